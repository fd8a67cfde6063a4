package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
)

// Keep copies a program to dir: a program that was built again must still be able to restart, and to run after a failed
// swap.
func Keep(ctx context.Context, dir string, p Program) (Program, error) {
	from, err := os.Open(p.Path)
	if err != nil {
		return p, err
	}
	defer from.Close()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return p, err
	}
	to := filepath.Join(dir, p.Digest[len("sha256:"):][:16])
	f, err := atomicfile.Create(to, 0o700)
	if err != nil {
		return p, err
	}
	defer f.Discard()
	if _, err = io.Copy(f, from); err != nil {
		return p, err
	}
	copied, err := Source{kind: File, ref: f.Name()}.Resolve(ctx, Options{})
	if err == nil && copied.Digest != p.Digest {
		err = fmt.Errorf("%s: changed while it was copied", p.Path)
	}
	if err != nil {
		return p, err
	}
	p.Path = to
	return p, f.Commit()
}

// DropKept deletes the copies in dir but for the one that runs.
func DropKept(dir, running string) error {
	all, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, path := range all {
		if path != running {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}
