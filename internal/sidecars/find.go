package sidecars

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Program is the name of the file.
const Program = "csi-sidecars"

// Env is the environment variable that names a file to take instead of any other.
const Env = "VSPHERE_SANDBOX_SIDECARS"

// NotFoundError says where the program was looked for.
type NotFoundError struct {
	// Looked are the files that are not there.
	Looked []string
}

// Error names the first of them, which is where the program belongs.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("%s: this build does not carry it, and it is not at %s", Program, e.Looked[0])
}

// Try is what to do about it.
func (e *NotFoundError) Try() string {
	return fmt.Sprintf("run `make build`, which leaves it beside vsphere-sandbox, take a release, which carries it, or set %s to where it is", Env)
}

// Find returns the absolute path of the program: what Env names, else what this program carries, else what lies beside this
// program's file. Unpacking takes about half a second, the first time alone; ctx ends it. Where there is none it returns a
// [NotFoundError]. Several processes may call it at once.
func Find(ctx context.Context) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	return search{named: os.Getenv(Env), self: self, carried: carried(), cache: os.UserCacheDir}.find(ctx)
}

// search is where to look.
type search struct {
	named, self string
	carried     []byte // gzip
	cache       func() (string, error)
}

func (s search) find(ctx context.Context) (string, error) {
	if s.named != "" {
		file, err := filepath.Abs(s.named)
		if err == nil {
			err = runnable(file)
		}
		if err != nil {
			return "", fmt.Errorf("%s=%s: %w", Env, s.named, err)
		}
		return file, nil
	}
	if len(s.carried) > 0 {
		dir, err := s.cache()
		if err != nil {
			return "", fmt.Errorf("%s: a folder to unpack it in: %w", Program, err)
		}
		file, err := unpack(ctx, s.carried, filepath.Join(dir, "vsphere-sandbox", "sidecars"))
		if err != nil {
			return "", fmt.Errorf("%s: %w", Program, err)
		}
		return file, nil
	}
	beside := []string{filepath.Join(filepath.Dir(s.self), Program)}
	if real, err := filepath.EvalSymlinks(s.self); err == nil && filepath.Dir(real) != filepath.Dir(s.self) {
		beside = append(beside, filepath.Join(filepath.Dir(real), Program))
	}
	for _, file := range beside {
		if err := runnable(file); err == nil {
			return file, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", &NotFoundError{Looked: beside}
}

// runnable says why a file cannot be run, if it cannot.
func runnable(file string) error {
	switch info, err := os.Stat(file); {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s: not a file", file)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s: not executable", file)
	}
	return nil
}
