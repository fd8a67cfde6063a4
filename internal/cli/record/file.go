package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

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
	switch info, err := os.Lstat(path); {
	case err == nil && !force:
		return nil, there(path)
	case err == nil && info.IsDir():
		return nil, unwritable(fmt.Errorf("%s: is a directory", path))
	}
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return nil, unwritable(err)
	}
	return &pending{f, path, force}, nil
}

// keep writes the text and puts the file in its place, in one step.
func (p *pending) keep(text []byte) error {
	_, err := p.Write(text)
	err = errors.Join(err, p.Sync())
	switch {
	case err == nil && p.force:
		err = p.Commit()
	case err == nil:
		err = p.CommitNew()
	}
	switch {
	case errors.Is(err, fs.ErrExist) && !p.force:
		return there(p.path)
	case err != nil:
		return unwritable(err)
	}
	return nil
}

func there(path string) error {
	return &report.Error{Code: "file-exists", Message: path + " is there already", Try: "--force, which replaces it", Exit: report.Usage}
}
