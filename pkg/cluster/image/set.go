package image

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"regexp"
	"slices"
	"strings"
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
