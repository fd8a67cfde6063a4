package image

import (
	"context"
	"fmt"
	"slices"
)

// The images that pods of a sandbox are made of, as manifests name them.
const (
	CCM      = "vsphere-cloud-controller-manager"
	CSI      = "vsphere-csi"
	Sidecars = "csi-sidecars"
	Program  = "vsphere-sandbox"
)

// repository is what comes before these names: nobody can push there, so nothing is ever pulled in their place.
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
