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
			Message: fmt.Sprintf("%s has Kubernetes %s, but the workloads of nodes here are for %s", name, i.Kubernetes, minor(f.Kubernetes)),
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
		Try: Ways(f.Kubernetes), Err: err,
	}
}

// Ways returns the ways to get a node image for a Kubernetes release, one per line.
func Ways(kubernetes string) string {
	return "sudo hack/kind-node/build -load, in a checkout: builds one without a registry, in some minutes\n" +
		"vsphere-sandbox images load FILE, after \"vsphere-sandbox images save FILE\" on another host\n" +
		"docker pull " + Official + ":" + kubernetes + ", if a registry is reachable"
}
