package events

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// pending is a file that is not there before it is complete: until then it is beside its place, under another name.
type pending struct {
	*os.File
	path  string
	force bool
}

// create makes one for its owner only. A file that is there is replaced with force only, and stays until then.
func create(path string, force bool) (*pending, error) {
	if there(path) && !force {
		return nil, errThere(path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &report.Error{
			Code: "usage", Message: "events export " + path, Try: "mkdir -p " + filepath.Dir(path), Exit: report.Usage, Err: fs.ErrNotExist,
		}
	} else if err != nil {
		return nil, err
	}
	return &pending{f, path, force}, nil
}

func (p *pending) keep() error {
	err := p.Close()
	if err == nil && !p.force && there(p.path) { // somebody was faster
		err = errThere(p.path)
	}
	if err == nil {
		err = os.Rename(p.Name(), p.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(p.Name()))
	}
	return nil
}

func (p *pending) discard() error {
	return errors.Join(p.Close(), os.Remove(p.Name()))
}
