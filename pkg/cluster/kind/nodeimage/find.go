package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/images"
)

// pullTime is how long the official image may take to be fetched: some 400 MB.
const pullTime = 10 * time.Minute

// Finder looks for a node image.
type Finder struct {
	// Store is the runtime's. Required.
	Store images.Store
	// Kubernetes is the release that is wanted: "v1.36.4". Required.
	Kubernetes string
	// Cache is where hack/kind-node keeps what it makes. Default: vsphere-sandbox/kind-node in the user's cache folder.
	Cache string
	// Helper is the owner label of the containers that read images, so that they can be found if they are left over. Optional.
	Helper string
	// Say is called when something slow begins, and every four seconds of it. It must not block. Optional.
	Say func(string)
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
		bad = append(bad, err) // of several archives the next may do
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
					Code: Missing, Message: fmt.Sprintf("%s has no node image %s, and cannot fetch it", f.Store.Runtime.Name(), name),
					Try: Ways(f.Kubernetes), Err: errors.Unwrap(err),
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
	if minor(i.Kubernetes) != minor(f.Kubernetes) {
		return Image{}, &coded.Error{
			Code:    Version,
			Message: fmt.Sprintf("%s has Kubernetes %s, and what runs on nodes here is for %s", name, i.Kubernetes, minor(f.Kubernetes)),
			Try:     "an image of " + minor(f.Kubernetes) + ", or none: " + Official + ":" + f.Kubernetes + " or what hack/kind-node/build has made is taken then",
		}
	}
	return i, nil
}

// load has the runtime load an image from its archive.
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

// pull fetches the official image. Kind's own releases have one for each minor release, of whichever patch was the last
// then: where that of f's does not exist, the one that kind's documentation names may.
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

// missing says that there is no image, and every way to one.
func (f Finder) missing(err error) error {
	return &coded.Error{
		Code: Missing,
		Message: fmt.Sprintf("there is no node image for Kubernetes %s: %s has neither %s nor %s of %s, there is no archive of one in %s, and none can be fetched",
			f.Kubernetes, f.Store.Runtime.Name(), Official, Own, minor(f.Kubernetes), f.where()),
		Try: Ways(f.Kubernetes), Err: err,
	}
}

// Ways are the ways to a node image for a Kubernetes release, one a line.
func Ways(kubernetes string) string {
	return "sudo hack/kind-node/build -load, in a checkout: makes one without a registry, in some minutes\n" +
		"vsphere-sandbox images load FILE, of one that \"vsphere-sandbox images save FILE\" has written elsewhere\n" +
		"docker pull " + Official + ":" + kubernetes + ", where a registry is reachable"
}
