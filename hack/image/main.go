package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run makes what args ask for, and writes a line for each file or folder: where, and of an image its name and digest.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.format == formatLicenses {
		return writeLicenses(ctx, o, stdout)
	}
	o.stamp, err = readStamp(ctx, o)
	if err != nil {
		return err
	}
	for _, p := range o.programs {
		made, err := assemble(ctx, o, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		var written []output
		switch o.format {
		case formatOCI:
			written, err = writeLayout(o, made)
		case formatDockerArchive:
			written, err = writeArchives(o, made)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		for _, w := range written {
			fmt.Fprintf(stdout, "%s %s %s\n", w.path, w.name, w.digest)
		}
	}
	return nil
}

// writeLicenses writes, for each platform, the terms of everything that is linked into any of the programs, in a folder
// OS_ARCHITECTURE in place of one that was there. Nothing is compiled.
func writeLicenses(ctx context.Context, o *options, stdout io.Writer) error {
	for _, platform := range o.platforms {
		dir := filepath.Join(o.out, platform.OS+"_"+platform.Architecture)
		if err := os.RemoveAll(filepath.Join(dir, licensesFolder)); err != nil {
			return err
		}
		for _, p := range o.programs {
			files, err := licenses(ctx, o, p, platform)
			if err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
			for _, f := range files {
				name := filepath.Join(dir, filepath.FromSlash(f.name))
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					return err
				}
				if err := os.WriteFile(name, f.data, 0o644); err != nil {
					return err
				}
			}
		}
		fmt.Fprintln(stdout, dir)
	}
	return nil
}

// output is something that has been written: the digest is the index's for a layout, an image's for an archive.
type output struct {
	path, name string
	digest     v1.Hash
}

// imageName is repository/program:tag.
func imageName(o *options, p program) (name.Tag, error) {
	return name.NewTag(o.repository+"/"+p.name+":"+o.tag, name.StrictValidation)
}

// writeLayout writes a folder by the program's name, in place of one that was there.
func writeLayout(o *options, m *made) ([]output, error) {
	tag, err := imageName(o, m.program)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(o.out, m.program.name)
	if err := removeLayout(dir); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	to, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	err = to.AppendIndex(m.index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag.TagStr(),
		"io.containerd.image.name":          tag.Name(),
	}))
	if err != nil {
		return nil, err
	}
	digest, err := m.index.Digest()
	return []output{{dir, tag.Name(), digest}}, err
}

// removeLayout removes a folder only if it is what writeLayout writes.
func removeLayout(dir string) error {
	switch _, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, "oci-layout")); err != nil {
		return fmt.Errorf("%s: is there, and is no OCI layout", dir)
	}
	return os.RemoveAll(dir)
}

// writeArchives writes a file by the name of the program and the platform, for each.
func writeArchives(o *options, m *made) ([]output, error) {
	tag, err := imageName(o, m.program)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return nil, err
	}
	var all []output
	for i, image := range m.images {
		file := filepath.Join(o.out, fmt.Sprintf("%s-%s-%s.tar", m.program.name, o.platforms[i].OS, o.platforms[i].Architecture))
		if err := tarball.WriteToFile(file, tag, image); err != nil {
			return nil, err
		}
		digest, err := image.Digest()
		if err != nil {
			return nil, err
		}
		all = append(all, output{file, tag.Name(), digest})
	}
	return all, nil
}

// made is a program's images: one for each platform, in the order of the options, and the index of them.
type made struct {
	program program
	images  []v1.Image
	index   v1.ImageIndex
}

// assemble compiles a program and puts its images together.
func assemble(ctx context.Context, o *options, p program) (*made, error) {
	dir, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	system, err := layer(systemFiles())
	if err != nil {
		return nil, err
	}
	m := &made{program: p, index: mutate.IndexMediaType(empty.Index, types.OCIImageIndex)}
	for _, platform := range o.platforms {
		binary := filepath.Join(dir, platform.Architecture)
		if err := compile(ctx, o, p, platform, binary); err != nil {
			return nil, err
		}
		program, err := binaryLayer(p, binary)
		if err != nil {
			return nil, err
		}
		terms, err := licenses(ctx, o, p, platform)
		if err != nil {
			return nil, err
		}
		licenses, err := layer(terms)
		if err != nil {
			return nil, err
		}
		image, err := imageOf(o.stamp, p, platform, system, licenses, program)
		if err != nil {
			return nil, err
		}
		m.images = append(m.images, image)
		m.index = mutate.AppendManifests(m.index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &platform},
		})
	}
	m.index = mutate.Annotations(m.index, o.stamp.labels(p)).(v1.ImageIndex) // it returns what it is given
	return m, nil
}

// imageOf is the image for one platform.
func imageOf(s stamp, p program, platform v1.Platform, system, licenses, program v1.Layer) (v1.Image, error) {
	created := v1.Time{Time: s.created}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(image,
		mutate.Addendum{Layer: system, History: v1.History{Created: created, CreatedBy: "hack/image: users and certificate authorities"}},
		mutate.Addendum{Layer: licenses, History: v1.History{Created: created, CreatedBy: "hack/image: licenses"}},
		mutate.Addendum{Layer: program, History: v1.History{Created: created, CreatedBy: "hack/image: " + p.name}},
	)
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = platform.OS, platform.Architecture, created
	file.Config = v1.Config{
		User:       user,
		WorkingDir: "/",
		Entrypoint: []string{"/" + p.name},
		Env:        []string{"PATH=/", "SSL_CERT_FILE=/" + rootsFile},
		Labels:     s.labels(p),
	}
	image, err = mutate.ConfigFile(image, file)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(image, s.labels(p)).(v1.Image), nil // it returns what it is given
}

// licensesFolder has a folder by each module's path, and "go" for the standard library.
const licensesFolder = "licenses"

// licenses are the files with the terms of everything that is linked into a program for a platform: of the Go project, of
// this module and of each other one, those of folders of linked packages too. A module without any is an error.
func licenses(ctx context.Context, o *options, p program, platform v1.Platform) ([]file, error) {
	goroot, err := command(ctx, o, platform, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	const line = "{{if .Standard}}go\t\t{{else}}{{.Module.Path}}\t{{.Module.Dir}}\t{{end}}{{.Dir}}"
	folder, pkg := p.source()
	packages, err := command(ctx, o, platform, "-C", folder, "list", "-deps", "-f", line, pkg)
	if err != nil {
		return nil, err
	}
	found, licensed := map[string]string{}, map[string]bool{} // the file by its name in the image, and modules
	looked := map[string]bool{}
	for line := range strings.SplitSeq(packages, "\n") {
		fields := strings.Split(line, "\t")
		module, root, dir := fields[0], cmp.Or(fields[1], goroot), fields[2]
		if _, known := licensed[module]; !known {
			licensed[module] = false
		}
		for ; !looked[dir]; dir = filepath.Dir(dir) { // up to the module's own folder
			looked[dir] = true
			names, err := licensesIn(dir)
			if err != nil {
				return nil, err
			}
			below, err := filepath.Rel(root, dir)
			if err != nil {
				return nil, err
			}
			if !filepath.IsLocal(below) {
				return nil, fmt.Errorf("%s: %s is outside of %s", module, dir, root)
			}
			for _, name := range names {
				found[path.Join(licensesFolder, module, filepath.ToSlash(below), name)] = filepath.Join(dir, name)
				licensed[module] = true
			}
			if dir == root {
				break
			}
		}
	}
	for _, module := range slices.Sorted(maps.Keys(licensed)) {
		if !licensed[module] {
			return nil, fmt.Errorf("%s: linked in, and has no license", module)
		}
	}
	var files []file
	for _, name := range slices.Sorted(maps.Keys(found)) {
		data, err := os.ReadFile(found[name])
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: name, data: data})
	}
	return files, nil
}

// licensesIn are the names of the files in a folder that say on what terms it may be used.
func licensesIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name := strings.ToUpper(e.Name())
		says := func(word string) bool { return strings.HasPrefix(name, word) }
		if e.Type()&fs.ModeDir == 0 && !strings.HasSuffix(name, ".GO") &&
			slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, says) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
