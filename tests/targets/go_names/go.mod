module example.com/go_names

go 1.18
