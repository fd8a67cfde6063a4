package kind

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
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
				name = "" // a tag without a repository
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

// contentLabel is on an image record in a node's containerd: what archive it is from, so that it is not loaded again.
const contentLabel = "vsphere-sandbox.content"

// Loaded is what [Cluster.LoadImages] has done: the images of the archive, and the nodes that took them, or had them.
type Loaded struct {
	Images         []string
	Nodes, Present []string
}

// LoadImages loads an image archive, as `docker save` or an OCI layout in a tar makes it, into containerd of these nodes, of all
// when none is named, side by side. Nodes that have the very same images are left out. A node that does not run is an
// error; the others are loaded all the same.
func (c *Cluster) LoadImages(ctx context.Context, archive string, nodes ...string) (Loaded, error) {
	f, err := os.Open(archive)
	if err != nil {
		return Loaded{}, fmt.Errorf("image archive: %w", err)
	}
	a, err := readArchive(f)
	_ = f.Close()
	if err != nil {
		return Loaded{}, fmt.Errorf("image archive %s: %w", archive, err)
	}
	if len(nodes) == 0 {
		nodes = c.names()
	}
	done := Loaded{Images: a.images}
	var mu sync.Mutex
	var wait sync.WaitGroup
	var errs []error
	for _, node := range nodes {
		wait.Go(func() {
			present, err := c.load(ctx, node, archive, a)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				errs = append(errs, fmt.Errorf("load %s: %w", archive, err))
			case present:
				done.Present = append(done.Present, node)
			default:
				done.Nodes = append(done.Nodes, node)
			}
		})
	}
	wait.Wait()
	return done, errors.Join(errs...)
}

func (c *Cluster) load(ctx context.Context, node, file string, a archive) (present bool, err error) {
	out, err := c.Exec(ctx, node, nil, "ctr", "--namespace=k8s.io", "images", "list", "--quiet", fmt.Sprintf("labels.%q==%s", contentLabel, a.content))
	if err != nil {
		return false, err
	}
	have := map[string]bool{}
	for name := range strings.FieldsSeq(string(out)) {
		have[name] = true
	}
	missing := len(a.images) == 0 // the names are needed to compare
	for _, name := range a.images {
		missing = missing || !have[name]
	}
	if !missing {
		return true, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if _, err = c.Exec(ctx, node, f, "ctr", "--namespace=k8s.io", "images", "import", "--all-platforms", "--digests", "--snapshotter="+c.snapshotter(ctx, node), "-"); err != nil {
		return false, err
	}
	for _, name := range a.images {
		if _, err := c.Exec(ctx, node, nil, "ctr", "--namespace=k8s.io", "images", "label", name, contentLabel+"="+a.content); err != nil {
			return false, err
		}
	}
	return false, nil
}

// snapshotter is what the node's containerd unpacks images with: overlayfs, but where that cannot be.
func (c *Cluster) snapshotter(ctx context.Context, node string) string {
	out, err := c.Exec(ctx, node, nil, "containerd", "config", "dump")
	if err != nil {
		return "overlayfs"
	}
	for line := range strings.Lines(string(out)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), "=")
		if name := strings.Trim(strings.TrimSpace(value), `'"`); ok && strings.TrimSpace(key) == "snapshotter" && name != "" {
			return name // the first is that of the CRI's images
		}
	}
	return "overlayfs"
}

// versionLabel is what images of hack/kind-node say their Kubernetes is. kind's own have only a file.
const versionLabel, versionFile = "org.opencontainers.image.version", "/kind/version"

// helperLabel is on containers of ours that are no nodes; they last for a moment.
const helperLabel = "vsphere-sandbox.helper"

// AsRoot returns what runs a shell script as root in a container of a node image that ends with it, where a directory of this
// machine is at its own path. A sandbox whose user is not root has what pods have written copied and removed by it; there is no
// other root to ask when the nodes are gone. [Reap] removes one that is left.
func AsRoot(rt *runtime.Runtime, image, sandbox string) func(ctx context.Context, dir, script string, args ...string) error {
	return func(ctx context.Context, dir, script string, args ...string) error {
		return rt.Script(ctx, image, helperLabel+"="+ClusterName(sandbox), dir, script, args...)
	}
}

// buildTry is how to come by a node image.
const buildTry = "sudo hack/kind-node/build -load makes one without a registry; --kind-image names it\n" +
	"or load an archive of one: vsphere-sandbox images load"

// image has the node image on this machine, and made for the right Kubernetes.
func (c *Cluster) image(ctx context.Context, say sayf) error {
	name := c.opts.Image
	known, err := c.rt.Image(ctx, name)
	if coded.Is(err, runtime.ImageMissing) {
		say("pulling node image %s", name)
		if err := c.rt.Pull(ctx, name, &lines{say: say}); err != nil {
			if coded.Is(err, runtime.ImageMissing) {
				return coded.New(runtime.ImageMissing, buildTry, err, "kind")
			}
			return err
		}
		known, err = c.rt.Image(ctx, name)
	}
	if err != nil {
		return err
	}
	want := c.opts.kubernetes()
	if minor(want) == "" {
		return nil // a program that links no Kubernetes cannot compare
	}
	got := known.Labels[versionLabel]
	if minor(got) == "" {
		if got, err = c.rt.Read(ctx, name, helperLabel+"="+c.Name(), versionFile); err != nil {
			if context.Cause(ctx) != nil {
				return err
			}
			return coded.New(ImageUnfit, buildTry, err, "image %s is no node image: it has no file %s", name, versionFile)
		}
	}
	switch {
	case minor(got) != minor(want):
		return coded.New(ImageUnfit, buildTry+"\nkindest/node:"+minor(want)+".x where there is a registry", nil,
			"image %s is of Kubernetes %s: this release needs %s", name, got, minor(want))
	case got != want:
		say("node image %s is of Kubernetes %s, not %s: that may do", name, got, want)
	}
	return nil
}

// minor returns the "v1.36" of a release, "" when it is none.
func minor(release string) string {
	major, rest, ok := strings.Cut(release, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if !ok || major != "v1" || minor == "" || strings.Trim(minor, "0123456789") != "" {
		return ""
	}
	return major + "." + minor
}
