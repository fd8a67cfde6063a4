package images

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// Store has the images of a runtime, which is required. Its methods may be called from any goroutine.
type Store struct {
	Runtime *runtime.Runtime
}

// Image is an image of a runtime.
type Image struct {
	// Name is the requested name, Names are all of its names.
	Name  string
	Names []string
	// ID is the runtime's digest of it: "sha256:…". Another runtime may have another digest for the same image.
	ID string
	// Size is its unpacked size in bytes.
	Size int64
	// Platform is its platform, "linux/amd64".
	Platform string
	Labels   map[string]string
	// Layers are the digests of its unpacked layers, which are the same in every runtime.
	Layers []string
	// Tagged is the time of its last tag; zero where the runtime does not report it.
	Tagged time.Time
}

// Image returns an image of the runtime, or a [Missing] error.
func (s Store) Image(ctx context.Context, name string) (Image, error) {
	list, err := s.inspect(ctx, name)
	if err != nil {
		return Image{}, err
	}
	return list[0], nil
}

// Images returns the images of a repository ("kindest/node"), in the runtime's order.
func (s Store) Images(ctx context.Context, repository string) ([]Image, error) {
	text, err := s.Runtime.Output(ctx, "image", "ls", "--format", "{{.Repository}}:{{.Tag}}", repository)
	if err != nil {
		return nil, err
	}
	var names []string
	for name := range strings.FieldsSeq(string(text)) {
		if repo, tag := split(name); tag != "" && tag != "<none>" && short(repo) == short(repository) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	return s.inspect(ctx, names...)
}

// Pull pulls an image from its registry. A failure of the registry is a [Refused] error.
func (s Store) Pull(ctx context.Context, name string) error {
	_, err := s.Runtime.Output(ctx, "pull", "--quiet", name)
	if coded.Is(err, runtime.Failed) {
		return coded.New(Refused, "", err, "%s cannot be pulled", name)
	}
	return err
}

// Save writes an image in Docker's archive format.
func (s Store) Save(ctx context.Context, name string, w io.Writer) error {
	if err := s.Runtime.Do(ctx, runtime.Call{Args: []string{"save", name}, Stdout: w}); err != nil {
		return fmt.Errorf("image %s: %w", name, err)
	}
	return nil
}

// Load loads the images of an archive in Docker's format.
func (s Store) Load(ctx context.Context, r io.Reader) error {
	return s.Runtime.Do(ctx, runtime.Call{Args: []string{"load"}, Stdin: r})
}

// inspected has the fields that all runtimes report of an image.
type inspected struct {
	ID           string `json:"Id"`
	RepoTags     []string
	Size         int64
	Os           string
	Architecture string
	Config       struct{ Labels map[string]string }
	RootFS       struct{ Layers []string }
	Metadata     struct{ LastTagTime time.Time }
}

func (s Store) inspect(ctx context.Context, names ...string) ([]Image, error) {
	text, err := s.Runtime.Output(ctx, append([]string{"image", "inspect"}, names...)...)
	if err != nil {
		if unknown(err) {
			return nil, coded.New(Missing, "", nil, "%s has no image %s", s.Runtime.Name(), strings.Join(names, ", "))
		}
		return nil, err
	}
	var list []inspected
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s image inspect: %w", s.Runtime.Name(), err)
	}
	if len(list) != len(names) { // nerdctl omits missing images
		return nil, coded.New(Missing, "", nil, "%s has no image %s", s.Runtime.Name(), strings.Join(names, ", "))
	}
	var found []Image
	for i, is := range list {
		found = append(found, Image{
			Name: names[i], Names: is.RepoTags, ID: digestOf(is.ID), Size: is.Size, Platform: is.Os + "/" + is.Architecture,
			Labels: is.Config.Labels, Layers: is.RootFS.Layers, Tagged: is.Metadata.LastTagTime,
		})
	}
	return found, nil
}

// unknown reports whether err means that the runtime does not have an image.
func unknown(err error) bool {
	// Some runtimes report "no such object" for any kind.
	return coded.Is(err, runtime.ImageMissing) || coded.Is(err, runtime.ContainerMissing)
}

// digestOf returns a digest with its algorithm, which Podman omits.
func digestOf(id string) string {
	if id == "" || strings.Contains(id, ":") {
		return id
	}
	return "sha256:" + id
}

// split splits an image's name at the colon of its tag, which is not that of a registry's port.
func split(name string) (repository, tag string) {
	if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
		return name[:i], name[i+1:]
	}
	return name, ""
}

// short removes the prefixes that runtimes add to names without a registry.
func short(name string) string {
	for _, host := range []string{"docker.io/library/", "docker.io/", "localhost/"} {
		if rest, ok := strings.CutPrefix(name, host); ok {
			return rest
		}
	}
	return name
}
