module gotarget

go 1.19
