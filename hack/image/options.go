package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// The formats.
const (
	formatOCI           = "oci"
	formatDockerArchive = "docker-archive"
	// formatLicenses is no image, but what an image has in /licenses, for programs that are delivered in another way.
	formatLicenses = "licenses"
)

// options are what the command line asks for.
type options struct {
	// root is the main module's; out is where the images go.
	root, out string
	programs  []program
	platforms []v1.Platform
	format    string
	// repository and tag are in the names of images: repository/program:tag.
	repository, tag string
	// ldflags are the linker's.
	ldflags string
	// version and revision are asked of git when they are empty.
	version, revision string
	stamp             stamp
}

func parse(args []string) (*options, error) {
	o := &options{}
	var names, platforms string
	fs := flag.NewFlagSet("image", flag.ContinueOnError)
	fs.StringVar(&o.root, "root", ".", "the main module's `folder`")
	fs.StringVar(&o.out, "out", "dist/image", "the `folder` for the images, below root unless it is absolute")
	fs.StringVar(&names, "programs", "", "comma-separated `names` of folders below cmd (all programs that have images)")
	fs.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "comma-separated `list` of OS/architecture")
	fs.StringVar(&o.format, "format", formatOCI, "oci, a layout folder; docker-archive, a file per platform; or licenses, a folder per platform, without an image")
	fs.StringVar(&o.repository, "repository", "localhost", "what comes before a program's `name` in the name of its image")
	fs.StringVar(&o.tag, "tag", "dev", "the images' `tag`")
	fs.StringVar(&o.ldflags, "ldflags", "-s -w", "the linker's `flags`")
	fs.StringVar(&o.version, "version", "", "the `release` (what git describe says)")
	fs.StringVar(&o.revision, "revision", "", "the `commit` (git's HEAD)")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if !slices.Contains([]string{formatOCI, formatDockerArchive, formatLicenses}, o.format) {
		return nil, fmt.Errorf("-format %s: %s, %s and %s are known", o.format, formatOCI, formatDockerArchive, formatLicenses)
	}
	var err error
	if o.root, err = filepath.Abs(o.root); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(o.out) {
		o.out = filepath.Join(o.root, o.out)
	}
	if o.programs, err = named(names); err != nil {
		return nil, err
	}
	for s := range strings.SplitSeq(platforms, ",") {
		p, err := v1.ParsePlatform(strings.TrimSpace(s))
		if err != nil || p.OS != "linux" && o.format != formatLicenses || p.Architecture == "" || p.Variant != "" || p.OSVersion != "" {
			return nil, fmt.Errorf("-platforms: %q is not one like linux/amd64", s)
		}
		o.platforms = append(o.platforms, *p)
	}
	return o, nil
}

// named returns the programs of a list, all when it is empty. A name that has no line in the table may be built all the
// same.
func named(list string) ([]program, error) {
	if list == "" {
		return programs(), nil
	}
	var found []program
	for name := range strings.SplitSeq(list, ",") {
		if name == "" || filepath.Base(name) != name {
			return nil, errors.New("-programs: names of folders below cmd are needed")
		}
		all := programs()
		i := slices.IndexFunc(all, func(p program) bool { return p.name == name })
		if i < 0 {
			found = append(found, program{name: name, title: name})
			continue
		}
		found = append(found, all[i])
	}
	return found, nil
}

// program is a command of the main module that becomes an image.
type program struct {
	// name is the folder below cmd, the file in the image, and the last part of the image's name.
	name string
	// title and description are for people who look at the image.
	title, description string
}

// source returns the folder of the program's module, in the main module, and its package there.
func (p program) source() (folder, pkg string) {
	if p.name == "vsphere-sandbox-kubernetes" {
		return "kubernetes", "."
	}
	return ".", "./cmd/" + p.name
}

// programs are all of them. Another one is one line.
func programs() []program {
	return []program{
		{"vsphere-cloud-controller-manager", "vSphere cloud controller manager", "The cloud controller manager of clusters whose nodes are virtual machines of vCenters."},
		{"vsphere-csi", "vSphere CSI driver", "The CSI driver of clusters whose nodes are virtual machines of vCenters, controller and node service."},
		{"csi-sidecars", "Stock CSI sidecars", "csi-provisioner, csi-attacher, csi-resizer, csi-snapshotter and snapshot-controller in one program."},
	}
}

// compile builds the static binary of a program for a platform, independent of this host: without paths, repository state
// or the user's Go settings.
func compile(ctx context.Context, o *options, p program, platform v1.Platform, file string) error {
	folder, pkg := p.source()
	_, err := command(ctx, o, platform, "-C", folder, "build", "-trimpath", "-buildvcs=false",
		"-ldflags", o.ldflags+o.stamp.ldflags(), "-o", file, pkg)
	return err
}

// command returns what the go command says in the main module, of a platform.
func command(ctx context.Context, o *options, platform v1.Platform, args ...string) (string, error) {
	c := exec.CommandContext(ctx, "go", args...)
	c.Dir, c.Env = o.root, environment(platform)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		if args[0] == "-C" {
			args = args[2:]
		}
		return "", fmt.Errorf("go %s for %s: %w\n%s", args[0], platform, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// environment is the go command's for a platform.
func environment(platform v1.Platform) []string {
	return append(foreign(os.Environ()),
		"CGO_ENABLED=0", "GOOS="+platform.OS, "GOARCH="+platform.Architecture,
		"GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
	)
}

// foreign leaves out what `go run` and `go test` set for themselves.
func foreign(environ []string) []string {
	var kept []string
	for _, v := range environ {
		if name, _, _ := strings.Cut(v, "="); name != "GOOS" && name != "GOARCH" && name != "PWD" {
			kept = append(kept, v)
		}
	}
	return kept
}
