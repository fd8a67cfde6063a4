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
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
)

// archive is the summary of an image archive.
type archive struct {
	// images are the full names in it, as in containerd: with registry and tag.
	images []string
	// content is a digest of all images.
	content string
}

// maxManifest limits the size of a manifest or an image's configuration; larger files are layers.
const maxManifest = 4 << 20

// maxManifests limits the size of all of them.
const maxManifests = 32 << 20

// readArchive reads the manifests of a docker archive or of an OCI layout. Both have digests of all images: one in the
// images' configurations, the other in its index.
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
				return archive{}, fmt.Errorf("is no tar archive of images: %w", err)
			}
			return archive{}, fmt.Errorf("is truncated or damaged: %w", err)
		}
		if h.Typeflag != tar.TypeReg || h.Size > maxManifest {
			continue
		}
		b, err := io.ReadAll(t)
		if err != nil {
			return archive{}, fmt.Errorf("%s: is truncated or damaged: %w", h.Name, err)
		}
		if json.Valid(b) {
			if size += len(b); size > maxManifests {
				return archive{}, &input.TooLarge{What: "the description of the images", Max: maxManifests}
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
	return archive{}, errors.New("is no image archive: it has neither a manifest.json nor an index.json")
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
			return archive{}, fmt.Errorf("manifest.json names the configuration %q, which is missing", m.Config)
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

// familiar returns the full name of an image, as containerd does: with registry, docker.io's library, and tag.
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

// contentLabel labels an image in a node's containerd with the content of its archive, so that it is not loaded again.
const contentLabel = "vsphere-sandbox.content"

// Loaded is the result of [Cluster.LoadImages]: the images of the archive, the nodes that loaded it, and those that had it.
type Loaded struct {
	Images         []string
	Nodes, Present []string
}

// ArchiveImages returns the full names of the images of an archive, as LoadImages loads it.
func ArchiveImages(file string) ([]string, error) {
	a, err := openArchive(file)
	return a.images, err
}

func openArchive(file string) (archive, error) {
	f, err := os.Open(file)
	if err != nil {
		return archive{}, fmt.Errorf("image archive: %w", err)
	}
	defer f.Close()
	a, err := readArchive(f)
	if err != nil {
		return archive{}, fmt.Errorf("image archive %s: %w", file, err)
	}
	return a, nil
}

// LoadImages loads an image archive, as of `docker save` or a tarred OCI layout, into containerd of the given nodes in
// parallel; by default of all nodes. It skips nodes with the same content. A stopped node is an error, but the others are
// still loaded.
func (c *Cluster) LoadImages(ctx context.Context, archive string, nodes ...string) (Loaded, error) {
	a, err := openArchive(archive)
	if err != nil {
		return Loaded{}, err
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

// snapshotter returns the snapshotter of the node's containerd: usually overlayfs.
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

// versionLabel has the Kubernetes release in images of hack/kind-node. kind's own only have versionFile.
const versionLabel, versionFile = "org.opencontainers.image.version", "/kind/version"

// helperLabel labels our short-lived containers that are no nodes.
const helperLabel = "vsphere-sandbox.helper"

// AsRoot returns a function that runs a shell script as root in a temporary container of a node image, with a directory
// of this host mounted at the same path. A sandbox without root needs it to copy and remove files of pods after the nodes
// are gone. [Reap] removes a container that is left.
func AsRoot(rt *runtime.Runtime, image, sandbox string) func(ctx context.Context, dir, script string, args ...string) error {
	return func(ctx context.Context, dir, script string, args ...string) error {
		return rt.Script(ctx, image, helperLabel+"="+ClusterName(sandbox), dir, script, args...)
	}
}

// buildTry is how to get a node image.
const buildTry = "sudo hack/kind-node/build -load makes one without a registry; --kind-image names it\n" +
	"or load an archive of one: vsphere-sandbox images load"

// image makes sure that the runtime has the node image, and that its Kubernetes release matches.
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
		return nil // a program without Kubernetes libraries cannot compare
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
	case !release.OnKind(got):
		return coded.New(ImageUnfit, buildTry+"\nkindest/node:"+minor(want)+".x if a registry is reachable", nil,
			"image %s is of Kubernetes %s: %s is the oldest that works here", name, got, release.OldestOnKind())
	case got != want:
		say("node image %s is of Kubernetes %s; the default one is of %s", name, got, want)
		c.opts.Kubernetes = got
		return c.render() // kubeadm's configuration depends on it
	}
	return nil
}

// minor returns the minor version of a release, "v1.36", or "".
func minor(release string) string {
	major, rest, ok := strings.Cut(release, ".")
	minor, _, _ := strings.Cut(rest, ".")
	if !ok || major != "v1" || minor == "" || strings.Trim(minor, "0123456789") != "" {
		return ""
	}
	return major + "." + minor
}
