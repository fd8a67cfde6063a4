package kind

import (
	"archive/tar"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// archive is what an image archive says of itself.
type archive struct {
	// images are the names in it, as containerd has them: with registry and tag.
	images []string
	// content is a digest of all that is in them.
	content string
}

// maxManifest is as large as a manifest or an image's configuration is taken to be; layers are passed over.
const maxManifest = 4 << 20

// maxManifests is how large all of them together may be.
const maxManifests = 32 << 20

// readArchive reads the manifests of a docker archive or of an OCI layout. Both have digests of all that is in an image: the
// one in the image's configuration, the other in its index.
func readArchive(r io.Reader) (archive, error) {
	small, size := map[string][]byte{}, 0
	t := tar.NewReader(r)
	for {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if len(small) == 0 {
				return archive{}, fmt.Errorf("is no tar of images: %w", err)
			}
			return archive{}, fmt.Errorf("is cut short or broken: %w", err)
		}
		if h.Typeflag != tar.TypeReg || h.Size > maxManifest {
			continue
		}
		b, err := io.ReadAll(t)
		if err != nil {
			return archive{}, fmt.Errorf("%s: is cut short or broken: %w", h.Name, err)
		}
		if json.Valid(b) {
			if size += len(b); size > maxManifests {
				return archive{}, &input.TooLarge{What: "what describes the images", Max: maxManifests}
			}
			small[strings.TrimPrefix(h.Name, "./")] = b
		}
	}
	switch {
	case small["manifest.json"] != nil:
		return dockerArchive(small)
	case small["index.json"] != nil:
		return ociArchive(small["index.json"])
	}
	return archive{}, errors.New("is no archive of images: it has neither a manifest.json nor an index.json")
}

func dockerArchive(small map[string][]byte) (archive, error) {
	var manifest []struct {
		Config   string
		RepoTags []string
	}
	if err := json.Unmarshal(small["manifest.json"], &manifest); err != nil {
		return archive{}, fmt.Errorf("manifest.json: %w", err)
	}
	var a archive
	h := sha256.New()
	for _, m := range manifest {
		config := small[m.Config]
		if config == nil {
			return archive{}, fmt.Errorf("manifest.json names the configuration %q, which is not there", m.Config)
		}
		fmt.Fprintf(h, "%x %q\n", sha256.Sum256(config), m.RepoTags)
		for _, tag := range m.RepoTags {
			a.images = append(a.images, familiar(tag))
		}
	}
	return a.with(h.Sum(nil)), nil
}

func ociArchive(index []byte) (archive, error) {
	var layout struct {
		Manifests []struct {
			Digest      string
			Annotations map[string]string
		}
	}
	if err := json.Unmarshal(index, &layout); err != nil {
		return archive{}, fmt.Errorf("index.json: %w", err)
	}
	var a archive
	h := sha256.New()
	for _, m := range layout.Manifests {
		name := m.Annotations["io.containerd.image.name"]
		if name == "" {
			name = m.Annotations["org.opencontainers.image.ref.name"]
			if !strings.ContainsAny(name, ":/") {
				name = "" // a tag alone: of what, nobody says
			}
		}
		fmt.Fprintf(h, "%s %q\n", m.Digest, name)
		if name != "" {
			a.images = append(a.images, familiar(name))
		}
	}
	return a.with(h.Sum(nil)), nil
}

func (a archive) with(sum []byte) archive {
	slices.Sort(a.images)
	a.images = slices.Compact(a.images)
	a.content = hex.EncodeToString(sum)
	return a
}

// familiar writes an image's name as containerd does: Docker's own registry, its library and the tag latest may be left out.
func familiar(name string) string {
	host, rest, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		name = "docker.io/library/" + name
	case !strings.ContainsAny(host, ".:") && host != "localhost":
		name = "docker.io/" + name
	case host == "docker.io" && !strings.Contains(rest, "/"):
		name = "docker.io/library/" + rest
	}
	if last := name[strings.LastIndexByte(name, '/'):]; !strings.ContainsAny(last, ":@") {
		name += ":latest"
	}
	return name
}
