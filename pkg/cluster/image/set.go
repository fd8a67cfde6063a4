package image

import (
	"archive/tar"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/atomicfile"
)

// The images that pods of a sandbox are made of, as manifests name them.
const (
	CCM      = "vsphere-cloud-controller-manager"
	CSI      = "vsphere-csi"
	Sidecars = "csi-sidecars"
	Program  = "vsphere-sandbox"
)

// repository is the prefix of these names: no registry can serve it, so nothing is pulled in their place.
const repository = "localhost/"

// user is whom programs run as: a number that no node has.
const user = "65532:65532"

// Set is images that share layers, ready to be written. It can be written as often as is wished, by several goroutines at
// once, as long as the programs it was made of stay as they were.
type Set struct {
	images []*made
	layers []*layer // each once
}

// Sandbox is the images CCM, CSI, Program and Sidecars: of self, this very program's file, and of sidecars, the program
// csi-sidecars ("" leaves that image out). Both have to be static programs for Linux, of one architecture; the error says
// what to do about one that is not. It reads both once: about half a second.
func Sandbox(ctx context.Context, self, sidecars string) (*Set, error) {
	program, err := programLayer(ctx, self, Program)
	if err != nil {
		return nil, err
	}
	system, err := systemLayer(program.arch)
	if err != nil {
		return nil, err
	}
	own := []*layer{system, program}
	images := []*made{
		{names: tagged(CCM, own), layers: own, entrypoint: []string{"/" + Program, "builtin-ccm"}, user: user},
		{names: tagged(CSI, own), layers: own, entrypoint: []string{"/" + Program, "csi-controller"}, user: user},
		{names: tagged(Program, own), layers: own, entrypoint: []string{"/" + Program}, user: user},
	}
	if sidecars != "" {
		stock, err := programLayer(ctx, sidecars, Sidecars)
		if err != nil {
			return nil, err
		}
		if stock.arch != program.arch {
			return nil, fmt.Errorf("%s is a program for %s, %s one for %s: nodes have one architecture", self, program.arch, sidecars, stock.arch)
		}
		all := []*layer{system, stock}
		images = append(images, &made{names: tagged(Sidecars, all), layers: all, entrypoint: []string{"/" + Sidecars}, user: user})
	}
	return newSet(images), nil
}

func newSet(images []*made) *Set {
	s := &Set{images: images}
	for _, i := range images {
		for _, l := range i.layers {
			if !slices.ContainsFunc(s.layers, func(o *layer) bool { return o.digest == l.digest }) {
				s.layers = append(s.layers, l)
			}
		}
	}
	return s
}

// tagged is the name of one of our images: its tag is a hash of what is in it.
func tagged(name string, layers []*layer) []string {
	return []string{repository + name + ":" + contentHash(layers)}
}

// Names are all images' names, with their tags.
func (s *Set) Names() []string {
	var all []string
	for _, i := range s.images {
		all = append(all, i.names...)
	}
	return all
}

// Name is the name of the image CCM, CSI, Sidecars or Program, with its tag; "" when it is not in the set.
func (s *Set) Name(of string) string {
	for _, n := range s.Names() {
		if repo, _ := split(n); repo == repository+of {
			return n
		}
	}
	return ""
}

// Only is a set of some of the images CCM, CSI, Sidecars and Program: a node that runs no controller needs CSI alone, and
// each image that it is spared is spared its disk.
func (s *Set) Only(of ...string) *Set {
	var some []*made
	for _, i := range s.images {
		if slices.ContainsFunc(of, func(name string) bool { return slices.Contains(i.names, s.Name(name)) }) {
			some = append(some, i)
		}
	}
	return newSet(some)
}

// split parts a name at its tag's colon, which is not that of a registry's port.
func split(name string) (repository, tag string) {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// complete reports whether a name has a registry, a repository and a tag: container runtimes resolve shorter names
// differently.
func complete(name string) bool {
	repository, tag := split(name)
	registry, rest, ok := strings.Cut(repository, "/")
	return ok && (strings.ContainsAny(registry, ".:") || registry == "localhost") &&
		regexp.MustCompile(`^[a-z0-9]+([._/-]+[a-z0-9]+)*$`).MatchString(rest) &&
		regexp.MustCompile(`^\w[\w.-]{0,127}$`).MatchString(tag)
}

// sum is a writer that hashes what passes.
type sum struct {
	to   io.Writer
	hash hash.Hash
}

func newSum(to io.Writer) *sum { return &sum{to: to, hash: sha256.New()} }

func (s *sum) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	s.hash.Write(p[:n]) // never fails
	return n, err
}

func (s *sum) digest() string { return hex.EncodeToString(s.hash.Sum(nil)) }

// Media types of the OCI image specification.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar"
)

// made is one image.
type made struct {
	names      []string
	layers     []*layer
	entrypoint []string
	user       string // "" when it says nothing
	path       string // where programs are looked for; "" is /
}

// blob is content that is known by its hash.
type blob struct {
	data []byte
}

func (b blob) digest() string {
	sum := sha256.Sum256(b.data)
	return hex.EncodeToString(sum[:])
}

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    map[string]string `json:"platform,omitempty"`
}

func (b blob) descriptor(mediaType string) descriptor {
	return descriptor{MediaType: mediaType, Digest: "sha256:" + b.digest(), Size: int64(len(b.data))}
}

// config is the image's configuration. Its date is 1970: the same programs are the same image.
func (m *made) config() (blob, error) {
	const epoch = "1970-01-01T00:00:00Z"
	container := map[string]any{"Entrypoint": m.entrypoint, "Env": []string{"PATH=" + cmp.Or(m.path, "/")}, "WorkingDir": "/"}
	if m.user != "" {
		container["User"] = m.user
	}
	diffs := make([]string, len(m.layers))
	history := make([]map[string]string, len(m.layers))
	for i, l := range m.layers {
		diffs[i] = "sha256:" + l.digest
		history[i] = map[string]string{"created": epoch, "created_by": "vsphere-sandbox: " + l.files[0].name}
	}
	data, err := json.Marshal(map[string]any{
		"architecture": m.layers[0].arch, "os": "linux", "created": epoch, "config": container,
		"rootfs": map[string]any{"type": "layers", "diff_ids": diffs}, "history": history,
	})
	return blob{data}, err
}

// manifest is the image's manifest.
func (m *made) manifest(config blob) (blob, error) {
	layers := make([]descriptor, len(m.layers))
	for i, l := range m.layers {
		layers[i] = descriptor{MediaType: layerType, Digest: "sha256:" + l.digest, Size: l.size}
	}
	data, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType, "config": config.descriptor(configType), "layers": layers,
	})
	return blob{data}, err
}

// blobs is where content is in an archive.
const blobs = "blobs/sha256/"

// docker is an image in Docker's own list of an archive's images.
type docker struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// Write writes the archive. It ends early with ctx, or when a program is no longer what it was when the set was made.
func (s *Set) Write(ctx context.Context, to io.Writer) error {
	w := tar.NewWriter(to)
	var index []descriptor
	var list []docker
	written := map[string]bool{} // images that differ in their names alone share the rest
	put := func(b blob) error {
		if written[b.digest()] {
			return nil
		}
		written[b.digest()] = true
		return entry(w, blobs+b.digest(), b.data)
	}
	if err := entry(w, "oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`)); err != nil {
		return err
	}
	for _, m := range s.images {
		config, err := m.config()
		if err != nil {
			return err
		}
		manifest, err := m.manifest(config)
		if err != nil {
			return err
		}
		if err := errors.Join(put(config), put(manifest)); err != nil {
			return err
		}
		index = append(index, m.entries(manifest)...)
		one := docker{Config: blobs + config.digest(), RepoTags: m.names}
		for _, l := range m.layers {
			one.Layers = append(one.Layers, blobs+l.digest)
		}
		list = append(list, one)
	}
	for _, l := range s.layers {
		if err := s.writeLayer(ctx, w, l); err != nil {
			return err
		}
	}
	if err := document(w, "index.json", map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": index}); err != nil {
		return err
	}
	if err := document(w, "manifest.json", list); err != nil {
		return err
	}
	return w.Close()
}

// entries are the image in the layout's index, once for each name.
func (m *made) entries(manifest blob) []descriptor {
	var all []descriptor
	for _, name := range m.names {
		_, tag := split(name)
		d := manifest.descriptor(manifestType)
		d.Platform = map[string]string{"os": "linux", "architecture": m.layers[0].arch}
		d.Annotations = map[string]string{"io.containerd.image.name": name, "org.opencontainers.image.ref.name": tag}
		all = append(all, d)
	}
	return all
}

func (s *Set) writeLayer(ctx context.Context, w *tar.Writer, l *layer) error {
	if err := w.WriteHeader(header(blobs+l.digest, tar.TypeReg, 0o644, l.size)); err != nil {
		return err
	}
	again := &layer{files: l.files}
	sum := newSum(w)
	if _, err := again.write(ctx, sum); err != nil {
		return err
	}
	if sum.digest() != l.digest {
		return fmt.Errorf("image: %s was changed while it was read; make the images again", l.files[0].name)
	}
	return nil
}

func entry(w *tar.Writer, name string, data []byte) error {
	if err := w.WriteHeader(header(name, tar.TypeReg, 0o644, int64(len(data)))); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

func document(w *tar.Writer, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return entry(w, name, data)
}

// WriteFile is Write into a file, which is complete or not there. Only its owner can read it.
func (s *Set) WriteFile(ctx context.Context, path string) error {
	f, err := atomicfile.Create(path, 0o600)
	if err != nil {
		return err
	}
	defer f.Discard()
	if err := s.Write(ctx, f); err != nil {
		return err
	}
	return f.Commit()
}
