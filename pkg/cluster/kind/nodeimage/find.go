package nodeimage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/glob"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/release"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
)

// pullTime is the timeout for pulling the official image: some 400 MB.
const pullTime = 10 * time.Minute

// Finder looks for a node image.
type Finder struct {
	// Store is the runtime's. Required.
	Store images.Store
	// Kubernetes is the wanted release, "v1.36.4". Required.
	Kubernetes string
	// Cache is the folder of hack/kind-node's archives. Default: vsphere-sandbox/kind-node in the user's cache folder.
	Cache string
	// Helper is the owner label of the containers that read images, so that they can be found if they are left over. Optional.
	Helper string
	// Progress is called when something slow begins, and every four seconds of it. It must not block. Optional.
	Progress func(string)
}

// Find returns the image for nodes, after it has loaded or pulled it into the runtime if needed. If there is no image,
// the error is [Missing] and lists how to get one.
func (f Finder) Find(ctx context.Context) (Image, error) {
	all, err := f.List(ctx)
	if err != nil {
		return Image{}, err
	}
	var bad []error
	for _, i := range all {
		if i.Loaded {
			return i, nil
		}
		i, err := f.load(ctx, i)
		if err == nil || ctx.Err() != nil {
			return i, err
		}
		bad = append(bad, err) // the next archive may work
	}
	name, err := f.pull(ctx)
	if err == nil {
		return f.Check(ctx, name)
	}
	if ctx.Err() != nil {
		return Image{}, ctx.Err()
	}
	return Image{}, f.missing(errors.Join(append(bad, err)...))
}

// Check returns the image that the user named, after it has pulled it if needed. Another minor release of Kubernetes is
// an error, [Version].
func (f Finder) Check(ctx context.Context, name string) (Image, error) {
	is, err := f.Store.Image(ctx, name)
	if coded.Is(err, images.Missing) {
		if err := f.fetch(ctx, name); err != nil {
			if coded.Is(err, images.Refused) {
				err = &coded.Error{
					Code: Missing, Message: fmt.Sprintf("%s has no node image %s, and cannot pull it", f.Store.Runtime.Name(), name),
					Try: Advice(f.Kubernetes), Err: errors.Unwrap(err),
				}
			}
			return Image{}, err
		}
		is, err = f.Store.Image(ctx, name)
	}
	if err != nil {
		return Image{}, err
	}
	i, err := f.of(ctx, is)
	if err != nil {
		return Image{}, err
	}
	if !release.OnKind(i.Kubernetes) {
		return Image{}, &coded.Error{
			Code:    Version,
			Message: fmt.Sprintf("%s has Kubernetes %s: %s is the oldest that works here", name, i.Kubernetes, release.OldestOnKind()),
			Try:     "an image of " + minor(f.Kubernetes) + ", or none: then " + Official + ":" + f.Kubernetes + " or an image of hack/kind-node/build is used",
		}
	}
	return i, nil
}

// load loads an image from its archive.
func (f Finder) load(ctx context.Context, i Image) (Image, error) {
	err := f.saying(ctx, "loading "+i.Name+" from "+i.Archive, func(ctx context.Context) error {
		file, err := os.Open(i.Archive)
		if err != nil {
			return err
		}
		defer file.Close()
		return f.Store.Load(ctx, file)
	})
	if err != nil {
		return Image{}, fmt.Errorf("node image of %s: %w", i.Archive, err)
	}
	is, err := f.Store.Image(ctx, i.Name)
	if err != nil {
		return Image{}, fmt.Errorf("node image of %s: %w", i.Archive, err)
	}
	return f.of(ctx, is)
}

// pull pulls the official image. kind publishes one patch release per minor release: if the exact one does not exist, the
// one in kind's documentation may.
func (f Finder) pull(ctx context.Context) (string, error) {
	exact := Official + ":" + f.Kubernetes
	err := f.fetch(ctx, exact)
	other := Official + ":" + minor(f.Kubernetes) + ".1"
	if err != nil && other != exact && absent(err) {
		if f.fetch(ctx, other) == nil {
			return other, nil
		}
	}
	return exact, err
}

// absent reports whether a registry has answered that the image does not exist.
func absent(err error) bool {
	text := strings.ToLower(err.Error())
	return strings.Contains(text, "manifest unknown") || strings.Contains(text, "not found: manifest") || strings.Contains(text, "manifest for ")
}

func (f Finder) fetch(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pullTime, fmt.Errorf("%s: not fetched within %s", name, pullTime))
	defer cancel()
	return f.saying(ctx, "fetching "+name, func(ctx context.Context) error { return f.Store.Pull(ctx, name) })
}

// missing returns the error without an image, with all ways to get one.
func (f Finder) missing(err error) error {
	return &coded.Error{
		Code: Missing,
		Message: fmt.Sprintf("no node image for Kubernetes %s was found: %s has neither %s nor %s of %s, %s has no archive of one, and none can be pulled",
			f.Kubernetes, f.Store.Runtime.Name(), Official, Own, minor(f.Kubernetes), f.where()),
		Try: Advice(f.Kubernetes), Err: err,
	}
}

// Advice returns the ways to get a node image for a Kubernetes release, one per line.
func Advice(kubernetes string) string {
	return "sudo hack/kind-node/build -load, in a checkout: builds one without a registry, in some minutes\n" +
		"vsphere-sandbox images load FILE, after \"vsphere-sandbox images save FILE\" on another host\n" +
		"docker pull " + Official + ":" + kubernetes + ", if a registry is reachable"
}

// Codes of a [coded.Error]: stable kebab-case ids. Errors of a runtime have the codes of package runtime.
const (
	Missing = "node-image-missing" // neither on this host nor in a registry
	Unknown = "node-image-unknown" // an image is no node of kind
	Version = "node-image-version" // it is for another Kubernetes
)

// List returns the node images of the wanted minor release on this host, in the order of [Finder.Find]: loaded before
// archived, official before ours, the exact release before others, newer before older. It changes nothing.
func (f Finder) List(ctx context.Context) ([]Image, error) {
	var all []Image
	for _, repository := range []string{Official, Own} {
		list, err := f.Store.Images(ctx, repository)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(list, func(a, b images.Image) int { return b.Tagged.Compare(a.Tagged) })
		var of []Image
		for _, is := range list {
			i, err := f.of(ctx, is)
			if err != nil && ctx.Err() != nil {
				return nil, err
			}
			if err != nil || minor(i.Kubernetes) != minor(f.Kubernetes) {
				continue
			}
			of = append(of, i)
		}
		slices.SortStableFunc(of, func(a, b Image) int {
			return -cmp.Compare(btoi(a.Kubernetes == f.Kubernetes), btoi(b.Kubernetes == f.Kubernetes))
		})
		all = append(all, of...)
	}
	archived, err := f.Archived(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range archived {
		at := slices.IndexFunc(all, func(i Image) bool { return i.Name == a.Name || i.Name == "localhost/"+a.Name })
		if at < 0 {
			all = append(all, a)
		} else {
			all[at].Archive = a.Archive
		}
	}
	return all, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Archived returns the images that hack/kind-node keeps in the cache, of the wanted minor release and this host's
// architecture, newest first. It needs no runtime, and ignores other files.
func (f Finder) Archived(ctx context.Context) ([]Image, error) {
	dir := f.where()
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	type aged struct {
		Image
		age fs.FileInfo
	}
	var found []aged
	for _, e := range entries {
		if !glob.Match("node-*.tar", e.Name()) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		path := filepath.Join(dir, e.Name())
		d, err := images.Describe(ctx, path)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		version := released(d.Name, d.Labels)
		if err != nil || minor(version) != minor(f.Kubernetes) || d.Platform != "linux/"+goruntime.GOARCH {
			continue
		}
		found = append(found, aged{Image{Name: d.Name, Kubernetes: version, Own: true, Archive: path, Size: d.Size, Platform: d.Platform}, info})
	}
	slices.SortStableFunc(found, func(a, b aged) int { return b.age.ModTime().Compare(a.age.ModTime()) })
	var all []Image
	for _, a := range found {
		all = append(all, a.Image)
	}
	return all, nil
}

// Tests returns the newest archive of images for Kubernetes' conformance tests that hack/kind-node keeps in the cache, of the wanted
// release, or "" if the cache has no archive of it. It needs no runtime.
func (f Finder) Tests() (string, error) {
	found, err := filepath.Glob(filepath.Join(f.where(), "tests-"+f.Kubernetes+"-*.tar"))
	if err != nil {
		return "", err
	}
	newest, at := "", time.Time{}
	for _, path := range found {
		if info, err := os.Stat(path); err == nil && info.ModTime().After(at) {
			newest, at = path, info.ModTime()
		}
	}
	return newest, nil
}

// where returns the folder of the archives.
func (f Finder) where() string {
	if f.Cache != "" {
		return f.Cache
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = "~/.cache" // only for messages
	}
	return filepath.Join(dir, "vsphere-sandbox", "kind-node")
}

// beat is the interval of repeated progress messages.
const beat = 4 * time.Second

// saying runs do, and reports what it does at its beginning and every four seconds.
func (f Finder) saying(ctx context.Context, what string, do func(context.Context) error) error {
	if f.Progress == nil {
		return do(ctx)
	}
	begin, done := time.Now(), make(chan struct{})
	f.Progress(what)
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				f.Progress(fmt.Sprintf("%s (%.0f s)", what, time.Since(begin).Seconds()))
			}
		}
	})
	err := do(ctx)
	close(done)
	ticking.Wait()
	return err
}

// The repositories of node images.
const (
	Official = "kindest/node"
	Own      = "vsphere-sandbox/kind-node"
)

// helperLabel labels the container that reads a file of an image; its value is [Finder.Helper].
const helperLabel = "vsphere-sandbox.helper"

// Labels of our own images.
const (
	ownLabel     = "com.github.vsphere-sandbox.kind-node"
	versionLabel = "org.opencontainers.image.version"
)

// Image is a node image.
type Image struct {
	// Name is the image's name for kind.
	Name string
	// Kubernetes is the release in it: "v1.36.4".
	Kubernetes string
	// Own is set if hack/kind-node built it.
	Own bool
	// Loaded is set if the runtime has it. Archive is the file to load it from, or "".
	Loaded  bool
	Archive string
	// Size is its size in bytes, unpacked if it is loaded and packed otherwise; Platform its platform; ID the runtime's
	// digest, "" if it is not loaded.
	Size     int64
	Platform string
	ID       string
}

// of returns the node image in an image of the runtime.
func (f Finder) of(ctx context.Context, is images.Image) (Image, error) {
	version := released(is.Name, is.Labels)
	if version == "" {
		said, err := f.Store.Runtime.Read(ctx, is.Name, helperLabel+"="+cmp.Or(f.Helper, "nodeimage"), "/kind/version")
		if err != nil || !isVersion(said) {
			return Image{}, &coded.Error{
				Code: Unknown, Message: fmt.Sprintf("%s is no node image of kind: it has no Kubernetes release in /kind/version", is.Name),
				Try: "one whose name begins with " + Official + ":v", Err: err,
			}
		}
		version = said
	}
	return Image{Name: is.Name, Kubernetes: version, Own: is.Labels[ownLabel] != "", Loaded: true, Size: is.Size, Platform: is.Platform, ID: is.ID}, nil
}

// released returns the Kubernetes release from an image's labels or name, or "".
func released(name string, labels map[string]string) string {
	if labels[ownLabel] != "" && isVersion(labels[versionLabel]) {
		return labels[versionLabel]
	}
	name, _, _ = strings.Cut(name, "@")
	if _, tag, ok := strings.Cut(name, Official+":"); ok && isVersion(tag) {
		return tag
	}
	return ""
}

func isVersion(s string) bool {
	return regexp.MustCompile(`^v\d+\.\d+\.\d+([-+][\w.+-]+)?$`).MatchString(s)
}

// minor returns a release without its patch: "v1.36".
func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}
