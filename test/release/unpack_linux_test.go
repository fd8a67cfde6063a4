package release

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// each calls f for every file of the archive, with its name below the archive's one folder.
func each(archive string, f func(name string, h *tar.Header, r io.Reader) error) error {
	file, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return err
	}
	folder := strings.TrimSuffix(filepath.Base(archive), ".tar.gz") + "/"
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		name, ok := strings.CutPrefix(h.Name, folder)
		if !ok || !filepath.IsLocal(name) {
			return fmt.Errorf("%s is not below %s", h.Name, folder)
		}
		if err := f(name, h, r); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
}

// unpack extracts the archive into a folder, as tar does.
func unpack(archive, dir string) error {
	return each(archive, func(name string, h *tar.Header, r io.Reader) error {
		if h.Typeflag != tar.TypeReg {
			return nil // folders come with their files
		}
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		w, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, h.FileInfo().Mode().Perm())
		if err != nil {
			return err
		}
		_, err = io.Copy(w, r)
		return errors.Join(err, w.Close())
	})
}
