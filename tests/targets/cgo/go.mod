module profcol/targets/cgo

go 1.19
