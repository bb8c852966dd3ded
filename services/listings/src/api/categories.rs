//! Categories. Those that are not active are in the list of all and can be read one by one; nothing else shows them.

use std::cmp::Reverse;

use super::{Api, ApiResult, messages, requests};
use crate::caller::Caller;
use crate::categories;
use crate::proto;
use crate::refusal::Refusal;

impl Api {
    pub(crate) async fn get_root_categories(
        &self,
        _caller: &Caller,
        (): (),
    ) -> ApiResult<proto::CategoriesResponse> {
        let all = self.operations.categories().await?;
        let roots = all.iter().filter(|category| category.is_active && category.parent_id.is_none());
        let categories = roots.map(|category| messages::category(&all, category)).collect();
        Ok(proto::CategoriesResponse { categories })
    }

    pub(crate) async fn get_all_categories(
        &self,
        _caller: &Caller,
        (): (),
    ) -> ApiResult<proto::CategoriesResponse> {
        let all = self.operations.categories().await?;
        let categories = all.iter().map(|category| messages::category(&all, category)).collect();
        Ok(proto::CategoriesResponse { categories })
    }

    pub(crate) async fn get_popular_categories(
        &self,
        _caller: &Caller,
        message: proto::PopularCategoriesRequest,
    ) -> ApiResult<proto::CategoriesResponse> {
        let count = requests::count(message.limit)?;
        let all = self.operations.categories().await?;
        let mut popular: Vec<_> = all.iter().filter(|category| category.is_active).collect();
        popular.sort_by_key(|category| (Reverse(category.listings), category.id));
        let popular = popular.into_iter().take(count);
        let categories = popular.map(|category| messages::category(&all, category)).collect();
        Ok(proto::CategoriesResponse { categories })
    }

    pub(crate) async fn get_category(
        &self,
        _caller: &Caller,
        message: proto::CategoryIdRequest,
    ) -> ApiResult<proto::CategoryResponse> {
        let id = requests::id("category_id", message.category_id)?;
        let all = self.operations.categories().await?;
        let category = categories::find(&all, id).ok_or(Refusal::NotFound("category", id))?;
        let category = Some(messages::category(&all, category));
        Ok(proto::CategoryResponse { category })
    }

    pub(crate) async fn get_category_tree(
        &self,
        _caller: &Caller,
        message: proto::CategoryIdRequest,
    ) -> ApiResult<proto::CategoryTreeResponse> {
        let id = requests::id("category_id", message.category_id)?;
        let all = self.operations.categories().await?;
        let tree = categories::tree(&all, id).ok_or(Refusal::NotFound("category", id))?;
        Ok(proto::CategoryTreeResponse { tree: Some(messages::node(&tree)) })
    }
}
