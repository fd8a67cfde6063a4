package tutorials

import (
	"embed"
	"io/fs"
)

// All that lies in a folder is taken in, a new folder with it.
//
//go:embed README.md */*
var files embed.FS

// FS is this folder: NN-name/README.md are the pages.
func FS() fs.FS { return files }
