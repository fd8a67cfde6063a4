package events

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// pending is a file that is not there before it is complete.
type pending struct {
	*atomicfile.File
	path  string
	force bool
}

// create makes one for its owner only. A file that is there is replaced with force only, and stays until then.
func create(path string, force bool) (*pending, error) {
	if there(path) && !force {
		return nil, errThere(path)
	}
	f, err := atomicfile.Create(path, 0o600)
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
	if p.force {
		return p.Commit()
	}
	err := p.CommitNew()
	if errors.Is(err, fs.ErrExist) {
		return errThere(p.path)
	}
	return err
}
