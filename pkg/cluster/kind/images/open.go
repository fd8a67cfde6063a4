package images

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
)

// Archive is an archive that was checked completely.
type Archive struct {
	path     string
	contents Contents
}

// Open reads an archive to its end and checks every file's digest. The error is [Foreign] for a file that this program
// did not write, and [Broken] for a damaged one. progress, if not nil, gets the position in bytes; it must not block.
func Open(ctx context.Context, path string, progress func(done, whole int64)) (*Archive, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("archive of images: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("archive of images: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, coded.New(Foreign, "name a file; it is read twice", nil, "%s is no file", path)
	}
	c, err := check(ctx, &counted{r: f, whole: info.Size(), progress: progress})
	var mine *coded.Error
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.As(err, &mine):
		mine.Message = path + " " + mine.Message
		return nil, mine
	case err != nil:
		return nil, coded.New(Broken, "copy it again, and compare its length", cut(err), "%s is damaged or truncated", path)
	}
	return &Archive{path, c}, nil
}

// check reads an archive and compares it with its table of contents.
func check(ctx context.Context, r *counted) (Contents, error) {
	foreign := func(format string, args ...any) error {
		return coded.New(Foreign, "write one with vsphere-sandbox images save; use docker load for an archive of docker save", nil, format, args...)
	}
	var c Contents
	found := map[string]File{}
	for t := tar.NewReader(r); ; {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		h, err := t.Next()
		switch {
		case errors.Is(err, io.EOF) && len(found) == 0:
			return c, foreign("is empty")
		case errors.Is(err, io.EOF) && c.Kind == "":
			return c, io.ErrUnexpectedEOF // the last file is missing
		case errors.Is(err, io.EOF):
			return c, compare(c, found)
		case err != nil && len(found) == 0:
			return c, foreign("is no archive of images")
		case err != nil:
			return c, err
		case len(found) == 0 && h.Name != markFile:
			return c, foreign("is an archive, but not one of vsphere-sandbox")
		case c.Kind != "":
			return c, fmt.Errorf("%s comes after the last file", h.Name)
		}
		if h.Name == contentsFile {
			if err := json.NewDecoder(io.LimitReader(t, describing)).Decode(&c); err != nil {
				return c, err
			}
			if c.APIVersion != apiVersion || c.Kind != kindName {
				return c, foreign("is %s %s, which this release does not support", c.APIVersion, c.Kind)
			}
			continue
		}
		if h.Size > r.whole { // a sparse file: it takes no space, but reading it never ends
			return c, fmt.Errorf("%s is larger than the archive that it is in", h.Name)
		}
		sum := sha256.New()
		n, err := io.Copy(sum, t)
		if err != nil {
			return c, err
		}
		if _, twice := found[h.Name]; twice {
			return c, fmt.Errorf("%s is in it twice", h.Name)
		}
		found[h.Name] = File{h.Name, n, fmt.Sprintf("%x", sum.Sum(nil))}
	}
}

// compare returns an error for the first difference between an archive and its contents file.
func compare(c Contents, found map[string]File) error {
	for _, want := range c.Files {
		got, ok := found[want.Path]
		switch {
		case !ok:
			return fmt.Errorf("%s is missing", want.Path)
		case got != want:
			return fmt.Errorf("%s is sha256:%s, want sha256:%s", want.Path, got.SHA256, want.SHA256)
		}
	}
	if len(found) != len(c.Files) {
		return fmt.Errorf("it has %d files, want %d", len(found), len(c.Files))
	}
	for _, item := range c.Images {
		for _, path := range append([]string{item.Config}, item.Blobs...) {
			if _, ok := found[path]; !ok {
				return fmt.Errorf("%s of %s is missing", path, item.Name)
			}
		}
		if got := found[item.Config].SHA256; got != strings.TrimPrefix(item.ID, "sha256:") {
			return fmt.Errorf("%s is sha256:%s, want %s", item.Name, got, item.ID)
		}
	}
	return nil
}

// counted counts the bytes read.
type counted struct {
	r           io.Reader
	done, whole int64
	progress    func(done, whole int64)
}

// Read implements [io.Reader].
func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.done += int64(n)
	if c.progress != nil && n > 0 {
		c.progress(c.done, c.whole)
	}
	return n, err
}
