package images

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
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

// describing is the maximum size of an image's metadata, in bytes: larger files are layers.
const describing = 1 << 20

// mostDescribing is the maximum size of all metadata in an archive: it is kept in memory, and archives are untrusted.
const mostDescribing = 32 << 20

// texts are the metadata files in an archive, by name. The zero value is empty.
type texts struct {
	by   map[string][]byte
	size int64
}

// keep stores a small file, if it may be metadata.
func (t *texts) keep(name string, text []byte) error {
	if !json.Valid(text) {
		return nil
	}
	if t.size += int64(len(text)); t.size > mostDescribing {
		return &input.TooLarge{What: "the description of the images", Max: mostDescribing}
	}
	if t.by == nil {
		t.by = map[string][]byte{}
	}
	t.by[name] = text
	return nil
}

// source is an archive of Docker's that was copied.
type source struct {
	manifests []manifest
	// files are the copied files, links the names that link to another; texts are the small files.
	files map[string]File
	links map[string]string
	texts texts
	// packed are the compressed files.
	packed map[string]bool
}

// copyAll copies the files of an archive of Docker's below prefix, except for its metadata. All of them, since only the
// end of the archive says which files an image needs.
func (a *Writer) copyAll(ctx context.Context, r io.Reader, prefix string) (*source, error) {
	in := &source{files: map[string]File{}, links: map[string]string{}, packed: map[string]bool{}}
	for t := tar.NewReader(r); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return in, nil
		} else if err != nil {
			return nil, err
		}
		name := path.Clean(h.Name)
		switch {
		case h.Typeflag == tar.TypeSymlink:
			in.links[name] = path.Join(path.Dir(name), h.Linkname)
			continue
		case h.Typeflag == tar.TypeLink:
			in.links[name] = path.Clean(h.Linkname)
			continue
		case h.Typeflag != tar.TypeReg, name == "repositories", name == "index.json", name == "oci-layout", path.Base(name) == "VERSION":
			continue
		case !localPath(name):
			return nil, fmt.Errorf("file %q in it has a path outside of the archive", h.Name)
		}
		content := io.Reader(t)
		if h.Size <= describing {
			text, err := io.ReadAll(t)
			if err = errors.Join(err, in.texts.keep(name, text)); err != nil {
				return nil, err
			}
			content = bytes.NewReader(text)
		}
		if name == manifestFile {
			if err := json.Unmarshal(in.texts.by[name], &in.manifests); err != nil {
				return nil, fmt.Errorf("%s: %w", manifestFile, err)
			}
			continue
		}
		head := &firstBytes{r: content}
		f, err := a.copyFile(prefix+name, h.Size, head)
		if err != nil {
			return nil, err
		}
		in.files[name], in.packed[name] = f, head.compressed()
	}
}

// pick returns the image of that name, or the only one.
func (in *source) pick(name string) (manifest, error) {
	for _, m := range in.manifests {
		if slices.ContainsFunc(m.RepoTags, func(tag string) bool { return short(tag) == short(name) }) {
			return m, nil
		}
	}
	switch len(in.manifests) {
	case 0:
		return manifest{}, errors.New("is no image: it has no " + manifestFile)
	case 1:
		return in.manifests[0], nil
	}
	return manifest{}, fmt.Errorf("is not among the %d images in the archive", len(in.manifests))
}

// describe completes an item, and checks that its layers match its configuration.
func (in *source) describe(m manifest, item Item) (Item, error) {
	text, ok := in.texts.by[in.real(m.Config)]
	if !ok {
		return item, fmt.Errorf("its configuration %s is missing", m.Config)
	}
	var c configuration
	if err := json.Unmarshal(text, &c); err != nil {
		return item, fmt.Errorf("its configuration: %w", err)
	}
	if len(c.RootFS.DiffIDs) != len(m.Layers) {
		return item, fmt.Errorf("its configuration names %d layers, but it has %d", len(c.RootFS.DiffIDs), len(m.Layers))
	}
	config := in.files[in.real(m.Config)]
	item.ID, item.Config = "sha256:"+config.SHA256, config.Path
	item.Layers, item.Platform = c.RootFS.DiffIDs, c.OS+"/"+c.Architecture
	for i, layer := range m.Layers {
		name := in.real(layer)
		f, ok := in.files[name]
		if !ok {
			return item, fmt.Errorf("its layer %s is missing", layer)
		}
		if !in.packed[name] && "sha256:"+f.SHA256 != c.RootFS.DiffIDs[i] {
			return item, fmt.Errorf("its layer %s is sha256:%s, want %s", layer, f.SHA256, c.RootFS.DiffIDs[i])
		}
		item.Blobs = append(item.Blobs, f.Path)
		item.Size += f.Size
	}
	return item, nil
}

// real resolves the links of a name.
func (in *source) real(name string) string {
	name = path.Clean(name)
	for range len(in.links) {
		to, ok := in.links[name]
		if !ok {
			break
		}
		name = to
	}
	return name
}

// localPath reports whether a clean path stays inside the folder that it is unpacked to.
func localPath(name string) bool {
	return name != "." && name != ".." && !path.IsAbs(name) && !strings.HasPrefix(name, "../")
}

// firstBytes keeps the first bytes of what is read.
type firstBytes struct {
	r    io.Reader
	head []byte
}

// Read implements [io.Reader].
func (f *firstBytes) Read(b []byte) (int, error) {
	n, err := f.r.Read(b)
	if room := 4 - len(f.head); room > 0 {
		f.head = append(f.head, b[:min(room, n)]...)
	}
	return n, err
}

// compressed reports whether the data is gzip or zstd.
func (f *firstBytes) compressed() bool {
	return bytes.HasPrefix(f.head, []byte{0x1f, 0x8b}) || bytes.HasPrefix(f.head, []byte{0x28, 0xb5, 0x2f, 0xfd})
}

// cut replaces the error of a truncated tar.
func cut(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is truncated")
	}
	return err
}
