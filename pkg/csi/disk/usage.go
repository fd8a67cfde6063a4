package disk

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
)

// Usage is what a file system's content takes.
type Usage struct {
	Bytes int64 // of its files
	Files int64 // files, directories and links
}

// Usage counts the content. What goes away meanwhile, or cannot be looked into, is not counted. Error: ctx's.
func (d *Disk) Usage(ctx context.Context) (Usage, error) {
	var u Usage
	err := filepath.WalkDir(d.Data(), func(_ string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		u.Files++
		if e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				u.Bytes += info.Size()
			}
		}
		return nil
	})
	return u, err
}
