package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// WriteMounted writes files to a folder in the layout of a mounted Secret: each name is a link through ..data to a folder that is
// replaced in one step. Programs that watch the folder see the events that they see in a pod.
func WriteMounted(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	const data = "..data"
	old, _ := os.Readlink(filepath.Join(dir, data)) // missing the first time
	version := time.Now().UTC().Format("..2006_01_02_15_04_05.000000000")
	if err := os.Mkdir(filepath.Join(dir, version), 0o700); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, version, name), content, 0o600); err != nil {
			return err
		}
	}
	next := filepath.Join(dir, "..data_tmp")
	_ = os.Remove(next) // of a process that was killed here
	if err := os.Symlink(version, next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(dir, data)); err != nil {
		return err
	}
	for name := range files {
		link := filepath.Join(dir, name)
		if _, err := os.Lstat(link); err == nil {
			continue
		}
		if err := os.Symlink(filepath.Join(data, name), link); err != nil {
			return err
		}
	}
	if strings.HasPrefix(old, "..") && !strings.Contains(old, "/") {
		return os.RemoveAll(filepath.Join(dir, old))
	}
	return nil
}
