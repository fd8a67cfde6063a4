package bundle

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/secret/mask"
)

// archive is a gzipped tar that appears, readable by its owner only, when it is complete. Everything in it is masked.
type archive struct {
	file *atomicfile.File
	gzip *gzip.Writer
	tar  *tar.Writer
	mask *mask.Mask
	made time.Time
}

// create begins the archive that will be at path, where nothing must be.
func create(path string, m *mask.Mask, made time.Time) (*archive, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return nil, err
	}
	z := gzip.NewWriter(f)
	return &archive{file: f, gzip: z, tar: tar.NewWriter(z), mask: m, made: made}, nil
}

// put adds a file and returns its length. It masks the text again after formatting, so that no format hides a secret.
func (a *archive) put(name string, text []byte) (int, error) {
	text = a.mask.Bytes(text)
	h := &tar.Header{Name: a.mask.String(name), Mode: 0o600, Size: int64(len(text)), ModTime: a.made, Format: tar.FormatPAX}
	if err := a.tar.WriteHeader(h); err != nil {
		return 0, err
	}
	_, err := a.tar.Write(text)
	return len(text), err
}

// finish puts the index in and the archive in its place, unless a file appeared there.
func (a *archive) finish(x *Index) error {
	x.Masked = a.mask.Count()
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	if _, err := a.put(IndexName, append(text, '\n')); err != nil {
		return err
	}
	if err := errors.Join(a.tar.Close(), a.gzip.Close(), a.file.Sync()); err != nil {
		return err
	}
	return a.file.CommitNew()
}
