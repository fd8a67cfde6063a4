package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

// pending is a file that is not there before it is complete: until then it is beside its place, under another name.
type pending struct {
	file  *os.File
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
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // 0600
	if err != nil {
		return nil, unwritable(err)
	}
	return &pending{f, path, force}, nil
}

// keep writes the text and puts the file in its place, in one step.
func (p *pending) keep(text []byte) error {
	_, err := p.file.Write(text)
	if err = errors.Join(err, p.file.Sync(), p.file.Close()); err != nil {
		return unwritable(err)
	}
	if p.force {
		if err := os.Rename(p.file.Name(), p.path); err != nil {
			return unwritable(err)
		}
		return nil
	}
	// A link is refused where somebody was faster, and a rename is not. The first name goes with discard.
	switch err := os.Link(p.file.Name(), p.path); {
	case errors.Is(err, fs.ErrExist):
		return there(p.path)
	case err != nil: // a file system without links
		if err := os.Rename(p.file.Name(), p.path); err != nil {
			return unwritable(err)
		}
	}
	return nil
}

// discard takes away what is left of it beside its place.
func (p *pending) discard() {
	_ = p.file.Close()           // closed already when it was kept
	_ = os.Remove(p.file.Name()) // gone already when it was renamed
}

func there(path string) error {
	return &report.Error{Code: "file-exists", Message: path + " is there already", Try: "--force, which replaces it", Exit: report.Usage}
}
