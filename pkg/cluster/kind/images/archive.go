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
	"os"
	"path"
	"slices"
	"strings"
	"time"

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

// Codes of a [coded.Error]: stable kebab-case ids. Errors of a runtime have the codes of package runtime.
const (
	Missing = "image-missing"         // the runtime does not have it
	Refused = "image-pull-refused"    // and cannot pull it
	Broken  = "image-archive-broken"  // an archive is damaged or truncated
	Foreign = "image-archive-foreign" // this program did not write the file
	Unlike  = "image-unlike"          // the runtime has another image than it loaded
)

// Described is an image of an archive in Docker's format.
type Described struct {
	// Name is the first of its names.
	Name     string
	Platform string
	Labels   map[string]string
	// Size is the archive's, in bytes.
	Size int64
}

// Describe returns the only image of a file in Docker's archive format, without reading its layers.
func Describe(ctx context.Context, file string) (Described, error) {
	d, err := describe(ctx, file)
	if err != nil {
		return Described{}, coded.New(Broken, "", cut(err), "%s is no archive of an image, or a damaged one", file)
	}
	return d, nil
}

func describe(ctx context.Context, file string) (Described, error) {
	f, err := os.Open(file)
	if err != nil {
		return Described{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Described{}, err
	}
	texts := texts{}
	for t := tar.NewReader(f); ; { // it skips layers without reading them
		if err := ctx.Err(); err != nil {
			return Described{}, err
		}
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return Described{}, err
		}
		if h.Typeflag == tar.TypeReg && h.Size <= describing {
			text, err := io.ReadAll(t)
			if err = errors.Join(err, texts.keep(path.Clean(h.Name), text)); err != nil {
				return Described{}, err
			}
		}
	}
	var list []manifest
	if err := json.Unmarshal(texts.by[manifestFile], &list); err != nil {
		return Described{}, fmt.Errorf("%s: %w", manifestFile, err)
	}
	if len(list) != 1 || len(list[0].RepoTags) == 0 {
		return Described{}, fmt.Errorf("it has %d images, want one with a name", len(list))
	}
	var c configuration
	if err := json.Unmarshal(texts.by[path.Clean(list[0].Config)], &c); err != nil {
		return Described{}, fmt.Errorf("%s: %w", list[0].Config, err)
	}
	return Described{Name: list[0].RepoTags[0], Platform: c.OS + "/" + c.Architecture, Labels: c.Config.Labels, Size: info.Size()}, nil
}

// The files of an archive beside the images' own.
const (
	markFile     = "vsphere-sandbox-images"      // the first: what this is
	contentsFile = "vsphere-sandbox-images.json" // the last: [Contents]
	manifestFile = "manifest.json"               // Docker's, before it
)

// The head of [Contents].
const (
	apiVersion = "sandbox.vsphere/v1alpha1"
	kindName   = "ImageArchive"
)

// Contents is the table of contents of an archive.
type Contents struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// By is the release of this program that wrote it.
	By      string    `json:"by"`
	Created time.Time `json:"created"`
	Images  []Item    `json:"images"`
	// Files are all other files in the archive.
	Files []File `json:"files"`
}

// Item is an image of an archive.
type Item struct {
	// Name is the image's name, and Part its purpose: "node", "program". The caller of [Writer.Add] sets them; all other
	// fields are filled in.
	Name string `json:"name"`
	Part string `json:"part,omitempty"`
	// Kubernetes is the release of a node image, "v1.36.4". The caller sets it, too.
	Kubernetes string `json:"kubernetes,omitempty"`
	// ID is the digest of its configuration, which has those of its layers; Layers are the digests of the unpacked layers.
	ID       string   `json:"id"`
	Layers   []string `json:"layers"`
	Platform string   `json:"platform"`
	// Size is the size of its layers in the archive, in bytes.
	Size int64 `json:"size"`

	// Config and Blobs are the paths of its configuration and its layers in the archive.
	Config string   `json:"config"`
	Blobs  []string `json:"blobs"`
}

// File is a file of an archive.
type File struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// manifest is an entry of Docker's manifest.json.
type manifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// configuration is the part of an image's configuration that is used here.
type configuration struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
	RootFS       struct {
		DiffIDs []string `json:"diff_ids"`
	} `json:"rootfs"`
	Config struct {
		Labels map[string]string
	} `json:"config"`
}

// Loaded is the result for an image of an archive.
type Loaded struct {
	Item
	// AlreadyPresent is set if the runtime had it before.
	AlreadyPresent bool
}

// Load loads those images of the archive that a runtime does not have, and verifies them. It is idempotent. progress is
// as for [Open].
func (a *Archive) Load(ctx context.Context, to Store, progress func(done, whole int64)) ([]Loaded, error) {
	var all []Loaded
	var wanted []Item
	for _, item := range a.contents.Images {
		had, err := to.has(ctx, item)
		if err != nil {
			return nil, err
		}
		all = append(all, Loaded{item, had})
		if !had {
			wanted = append(wanted, item)
		}
	}
	if len(wanted) == 0 {
		return all, nil
	}
	if err := a.give(ctx, to, wanted, progress); err != nil {
		return nil, err
	}
	for _, item := range wanted {
		had, err := to.has(ctx, item)
		if err != nil {
			return nil, err
		}
		if !had {
			return nil, coded.New(Unlike, "", nil, "%s has loaded the archive, but its image %s differs from the archive's", to.Runtime.Name(), item.Name)
		}
	}
	return all, nil
}

// has reports whether a runtime has an image, by its layers: some runtimes change the digest of the configuration.
func (s Store) has(ctx context.Context, item Item) (bool, error) {
	is, err := s.Image(ctx, item.Name)
	switch {
	case coded.Is(err, Missing):
		return false, nil
	case err != nil:
		return false, err
	}
	return slices.Equal(is.Layers, item.Layers) && is.Platform == item.Platform, nil
}

// give loads some images.
func (a *Archive) give(ctx context.Context, to Store, wanted []Item, progress func(done, whole int64)) error {
	r, w := io.Pipe()
	written := make(chan error, 1)
	go func() {
		err := a.write(ctx, w, wanted, progress)
		w.CloseWithError(err)
		written <- err
	}()
	err := to.Load(ctx, r)
	r.CloseWithError(err) // no effect if everything was read
	if werr := <-written; werr != nil && (err == nil || ctx.Err() == nil && !errors.Is(werr, err)) {
		return werr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", a.path, err)
	}
	return nil
}

// write writes some of the images in Docker's format.
func (a *Archive) write(ctx context.Context, w io.Writer, wanted []Item, progress func(done, whole int64)) error {
	f, err := os.Open(a.path)
	if err != nil {
		return fmt.Errorf("archive of images: %w", err)
	}
	defer f.Close()
	needed := map[string]bool{}
	var docker []manifest
	for _, item := range wanted {
		for _, path := range append([]string{item.Config}, item.Blobs...) {
			needed[path] = true
		}
		docker = append(docker, manifest{Config: item.Config, RepoTags: []string{item.Name}, Layers: item.Blobs})
	}
	var whole int64
	for _, file := range a.contents.Files {
		if needed[file.Path] {
			whole += file.Size
		}
	}
	in := &counted{whole: whole, progress: progress}
	out := tar.NewWriter(w)
	for t := tar.NewReader(f); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := t.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			return coded.New(Broken, "", cut(err), "%s has changed since it was checked", a.path)
		}
		if !needed[h.Name] {
			continue
		}
		in.r = t
		if err := put(out, h.Name, h.Size, in); err != nil {
			return err
		}
	}
	text, err := json.Marshal(docker)
	if err != nil {
		return err
	}
	if err := put(out, manifestFile, int64(len(text)), bytes.NewReader(text)); err != nil {
		return err
	}
	return out.Close()
}

func put(out *tar.Writer, name string, size int64, r io.Reader) error {
	if err := out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: size, Format: tar.FormatGNU}); err != nil {
		return err
	}
	_, err := io.Copy(out, r)
	return err
}
