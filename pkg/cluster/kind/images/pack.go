package images

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Writer writes an archive. It is for one goroutine; [Writer.Close] completes it.
type Writer struct {
	tar      *tar.Writer
	contents Contents
	docker   []manifest
	err      error // the first; the archive is unusable after it
}

// NewWriter returns a Writer to w; by is the release of this program.
func NewWriter(w io.Writer, by string) *Writer {
	a := &Writer{tar: tar.NewWriter(w), contents: Contents{APIVersion: apiVersion, Kind: kindName, By: by, Created: time.Now().UTC().Truncate(time.Second)}}
	a.err = a.file(markFile, []byte("images for vsphere-sandbox: "+contentsFile+" lists them\n"))
	return a
}

// AddFrom adds an image of a runtime, by the item's name.
func (a *Writer) AddFrom(ctx context.Context, from Store, item Item) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r, w := io.Pipe()
	saved := make(chan error, 1)
	go func() {
		err := from.Save(ctx, item.Name, w)
		w.CloseWithError(err) // nil is the end of the file
		saved <- err
	}()
	err := a.Add(ctx, r, item)
	if err == nil {
		// Read the padding after the tar's end, or the runtime would block on its write.
		_, err = io.Copy(io.Discard, r)
	} else {
		r.CloseWithError(err)
		cancel()
	}
	if serr := <-saved; err == nil {
		err = serr
	}
	return err
}

// Add adds images of an archive in Docker's format: for each item the one with its name, or the only one.
func (a *Writer) Add(ctx context.Context, r io.Reader, items ...Item) error {
	if a.err == nil {
		a.err = a.add(ctx, r, items)
	}
	return a.err
}

func (a *Writer) add(ctx context.Context, r io.Reader, items []Item) error {
	in, err := a.copyAll(ctx, r, fmt.Sprintf("%d/", len(a.contents.Images)))
	if err != nil {
		return fmt.Errorf("images: %w", cut(err))
	}
	for _, item := range items {
		m, err := in.pick(item.Name)
		if err == nil {
			item, err = in.describe(m, item)
		}
		if err != nil {
			return fmt.Errorf("image %s: %w", item.Name, err)
		}
		a.contents.Images = append(a.contents.Images, item)
		a.docker = append(a.docker, manifest{Config: item.Config, RepoTags: []string{item.Name}, Layers: item.Blobs})
	}
	return nil
}

// Images returns the added images.
func (a *Writer) Images() []Item { return a.contents.Images }

// Close writes the last files. It does not close the underlying writer.
func (a *Writer) Close() error {
	if a.err != nil {
		return a.err
	}
	if a.err = a.last(); a.err == nil {
		a.err = a.tar.Close()
	}
	return a.err
}

func (a *Writer) last() error {
	docker, err := json.Marshal(a.docker)
	if err != nil {
		return err
	}
	if err := a.file(manifestFile, docker); err != nil {
		return err
	}
	all, err := json.MarshalIndent(a.contents, "", "  ")
	if err != nil {
		return err
	}
	return a.file(contentsFile, all)
}

// file writes a file from memory.
func (a *Writer) file(name string, data []byte) error {
	_, err := a.copyFile(name, int64(len(data)), bytes.NewReader(data))
	return err
}

// copyFile writes a file, and records it unless it is the table of contents.
func (a *Writer) copyFile(name string, size int64, r io.Reader) (File, error) {
	f := File{Path: name, Size: size}
	if err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Format: tar.FormatGNU}); err != nil {
		return f, err
	}
	sum := sha256.New()
	if n, err := io.Copy(io.MultiWriter(a.tar, sum), r); err != nil {
		return f, err
	} else if n != size {
		return f, io.ErrUnexpectedEOF
	}
	f.SHA256 = fmt.Sprintf("%x", sum.Sum(nil))
	if name != contentsFile {
		a.contents.Files = append(a.contents.Files, f)
	}
	return f, nil
}

// Rename changes the name of an added image.
func (a *Writer) Rename(from, to string) {
	for i := range a.contents.Images {
		if a.contents.Images[i].Name == from {
			a.contents.Images[i].Name, a.docker[i].RepoTags = to, []string{to}
		}
	}
}
