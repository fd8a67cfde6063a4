package image

import (
	"context"
	"fmt"
	"slices"
)

// Foreign is an image of a program of somebody else.
type Foreign struct {
	// File is the program, At the path that it has in the image (absolute: "/bin/program"), which is also what the image runs.
	File, At string
	// Names are what the image is called: "registry.example.net/name:tag".
	Names []string
	// Tools is a tar with other programs that this one runs, and what those need; nil for none. See [ToolsScript].
	Tools []byte
}

// toolsPath is where a program finds its tools.
const toolsPath = "/usr/sbin:/usr/bin:/sbin:/bin"

// FromProgram is one image, under the given names, of a program of somebody else: see [Foreign]. The user is up to who runs
// it, as in images that say nothing of it.
func FromProgram(ctx context.Context, file, at string, names ...string) (*Set, error) {
	return FromPrograms(ctx, Foreign{File: file, At: at, Names: names})
}

// FromPrograms is an image for each program.
func FromPrograms(ctx context.Context, all ...Foreign) (*Set, error) {
	var images []*made
	for _, f := range all {
		m, err := f.image(ctx)
		if err != nil {
			return nil, err
		}
		images = append(images, m)
	}
	return newSet(images), nil
}

func (f Foreign) image(ctx context.Context) (*made, error) {
	if len(f.At) < 2 || f.At[0] != '/' || len(f.Names) == 0 {
		return nil, fmt.Errorf("an image of %s: a path in the image that begins with / and a name are needed, not %q and %q", f.File, f.At, f.Names)
	}
	if i := slices.IndexFunc(f.Names, func(n string) bool { return !complete(n) }); i >= 0 {
		return nil, fmt.Errorf("an image of %s: %q is no name with registry and tag, like registry.example.net/name:v1", f.File, f.Names[i])
	}
	program, err := programLayer(ctx, f.File, f.At[1:])
	if err != nil {
		return nil, err
	}
	system, err := systemLayer(program.arch)
	if err != nil {
		return nil, err
	}
	m := &made{names: f.Names, layers: []*layer{system, program}, entrypoint: []string{f.At}}
	if f.Tools != nil {
		tools, err := toolsLayer(ctx, program.arch, f.Tools)
		if err != nil {
			return nil, fmt.Errorf("tools for an image of %s: %w", f.File, err)
		}
		m.layers, m.path = []*layer{system, tools, program}, toolsPath
	}
	return m, nil
}
