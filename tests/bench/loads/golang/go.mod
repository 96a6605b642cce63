module golang_work

go 1.19
