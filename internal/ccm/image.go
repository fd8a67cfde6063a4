package ccm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/coded"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/input"
)

// reference reads the name of an image. A registry on loopback is spoken to without TLS, as Docker does.
func reference(ref string) (name.Reference, error) {
	r, err := name.ParseReference(ref)
	if err != nil {
		return nil, coded.New("usage", "", err, "CCM image:%s: is no name of an image", ref)
	}
	host := r.Context().RegistryStr()
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	if ip := net.ParseIP(strings.Trim(host, "[]")); host == "localhost" || ip != nil && ip.IsLoopback() {
		return name.ParseReference(ref, name.Insecure)
	}
	return r, nil
}

// image returns the program of an image in a registry, for which the user's Docker configuration has the credentials.
func (o Options) image(ctx context.Context, text string) (Program, error) {
	v := startProgress(o.Progress)
	defer v.stop()
	ref, err := reference(text)
	if err != nil {
		return Program{}, err
	}
	v.now("asking %s for %s", ref.Context().RegistryStr(), text)
	// A registry that takes connections and never answers is given up; how long a layer takes is its own affair.
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	defer t.CloseIdleConnections()
	descriptor, err := remote.Get(ref,
		remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithTransport(t),
		remote.WithUserAgent("vsphere-sandbox"), remote.WithPlatform(v1.Platform{OS: o.OS, Architecture: o.Arch}),
		remote.WithRetryBackoff(remote.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Steps: 3}))
	if err != nil {
		return Program{}, refused(text, ref, err)
	}
	img, err := o.imageOf(descriptor)
	if err != nil {
		return Program{}, o.notForUs(text, ref, err)
	}
	digest, err := img.Digest()
	if err != nil {
		return Program{}, refused(text, ref, err)
	}
	p, err := o.unpack(ctx, v, "image:"+text, img)
	if err != nil {
		if status := (*transport.Error)(nil); errors.As(err, &status) {
			err = refused(text, ref, err)
		}
		return Program{}, err
	}
	p.Digest = digest.String()
	if tag, ok := ref.(name.Tag); ok && p.Version == "" {
		p.Version = tag.TagStr()
	}
	return p, nil
}

// imageOf returns the image for the platform.
func (o Options) imageOf(d *remote.Descriptor) (v1.Image, error) {
	if err := describing("the manifest", int64(len(d.Manifest))); err != nil {
		return nil, err
	}
	if !d.MediaType.IsIndex() {
		img, err := d.Image()
		if err != nil {
			return nil, err
		}
		m, err := img.Manifest()
		if err != nil {
			return nil, err
		}
		return img, fits(m)
	}
	index, err := d.ImageIndex()
	if err != nil {
		return nil, err
	}
	// No more is read of a registry than a descriptor says that there is.
	return o.fromIndex(index, func(what string, d v1.Descriptor) error { return describing(what, d.Size) }, 0)
}

// refused says in words what a registry did not give.
func refused(text string, ref name.Reference, err error) error {
	registry := ref.Context().RegistryStr()
	var status *transport.Error
	var dns *net.DNSError
	switch {
	case errors.As(err, &status):
		switch status.StatusCode {
		case http.StatusUnauthorized, http.StatusForbidden:
			return &coded.Error{
				Code: "ccm-image-refused", Message: fmt.Sprintf("CCM image:%s: %s does not let us read it (%d)", text, registry, status.StatusCode),
				Try: "docker login " + registry + ", or check the name: some registries say this of what they do not have",
			}
		case http.StatusNotFound:
			return coded.New("ccm-image-refused", "", nil, "CCM image:%s: %s has no image of that name and tag", text, registry)
		}
		return coded.New("ccm-image-refused", "", nil, "CCM image:%s: %s answers %d %s", text, registry, status.StatusCode, http.StatusText(status.StatusCode))
	case errors.Is(err, syscall.ECONNREFUSED):
		return coded.New("ccm-image-refused", "", nil, "CCM image:%s: connection refused by %s", text, registry)
	case errors.As(err, &dns):
		return coded.New("ccm-image-refused", "", nil, "CCM image:%s: registry %s: there is no such host, or no network", text, registry)
	}
	return coded.New("ccm-image-refused", "", err, "CCM image:%s: %s", text, registry)
}

func (o Options) notForUs(text string, ref name.Reference, err error) error {
	if mine := (*coded.Error)(nil); errors.As(err, &mine) {
		mine.Message = "CCM image:" + text + ": " + mine.Message
		return mine
	}
	if tooLarge, ok := errors.AsType[*input.TooLarge](err); ok {
		return coded.New("ccm-image-unusable", "", nil, "CCM image:%s: %v", text, tooLarge)
	}
	return refused(text, ref, err)
}
