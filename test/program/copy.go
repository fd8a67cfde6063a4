package program

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/programs"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/sidecars"
)

// Copy copies the program, with the Kubernetes program and the sidecars beside it, into a folder, and returns the copy's path.
func Copy(folder, binary string) (string, error) {
	beside := filepath.Dir(binary)
	for _, from := range []string{binary, filepath.Join(beside, programs.Name), filepath.Join(beside, sidecars.Program)} {
		if err := copyFile(from, filepath.Join(folder, filepath.Base(from))); err != nil {
			return "", err
		}
	}
	return filepath.Join(folder, filepath.Base(binary)), nil
}

// CopyForAll is [Copy] into a new folder that everybody may enter, which a checkout below a home directory is not. The
// folder is there until remove is called.
func CopyForAll(binary string) (copied string, remove func() error, err error) {
	folder, err := os.MkdirTemp("", "vsphere-sandbox-program-")
	if err != nil {
		return "", nil, err
	}
	remove = func() error { return os.RemoveAll(folder) }
	if err = os.Chmod(folder, 0o755); err == nil {
		copied, err = Copy(folder, binary)
	}
	if err != nil {
		return "", nil, errors.Join(err, remove())
	}
	return copied, remove, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return err
	}
	return out.Close()
}
