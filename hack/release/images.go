package main

import (
	"errors"
	"regexp"
)

// registry is where the images of a release are pushed, step 5 of docs/releasing.md. Their tag is the chart's appVersion.
const registry = "ghcr.io/vsphere-sandbox"

// pullable puts the registry into a values.yaml, whose images are else those that `make image` has made on this machine:
// nobody else can pull them. The text stays as it is otherwise, for its comments are what people read of it.
func pullable(text []byte, registry string) ([]byte, error) {
	local := regexp.MustCompile(`(?m)^( +repository: )localhost/([a-z0-9-]+)$`)
	if !local.Match(text) {
		return nil, errors.New("names no image of localhost/")
	}
	out := local.ReplaceAll(text, []byte("${1}"+registry+"/${2}"))
	if regexp.MustCompile(`localhost/`).Match(out) {
		return nil, errors.New("names localhost/ in a way that is not understood")
	}
	return out, nil
}
