#!/bin/sh
# Bisect a scratch history of 128 commits, one of which makes each request cost half as much again.
# try.sh FOLDER [COMMIT]: makes FOLDER; COMMIT (2 to 128) is the planted one. `plimsoll` must be on the PATH.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
planted=${2:-77}
mkdir "$folder"
cp "$here/plan.toml" "$here/experiment.toml" "$folder"
cd "$folder"

git init --quiet history
cd history
git config user.name bisect
git config user.email bisect@localhost
cp "$here/service.py" .
rounds=20
for number in $(seq 1 128); do
    if [ "$number" = "$planted" ]; then rounds=30; fi
    printf 'COMMIT = %s\nROUNDS = %s\n' "$number" "$rounds" > work.py
    git add service.py work.py
    git commit --quiet --message "commit $number"
done
git worktree add --quiet --detach ../good HEAD~127

git bisect start --quiet HEAD HEAD~127 2>/dev/null || git bisect start HEAD HEAD~127
git bisect run plimsoll ab --bisect ../experiment.toml --build 'python3 -B -c "import work"' --quiet

found=$(git show --no-patch --format=%s refs/bisect/bad)
echo "planted: commit $planted; found: $found"
test "$found" = "commit $planted"
