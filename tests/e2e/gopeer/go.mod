module gopeer

go 1.24
