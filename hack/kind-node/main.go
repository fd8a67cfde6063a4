package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if ctx.Err() != nil {
		err = errors.New("interrupted: the next run starts the incomplete step again")
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "kind-node:", err)
		os.Exit(1)
	}
}

// run makes the image that args ask for, unless it exists. Stdout gets two lines, the image's name and the archive's
// path; stderr gets what is being done.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	key, err := inputs(o.source, o.release)
	if err != nil {
		return err
	}
	o.image = o.repository + ":" + key
	archive := o.path(archiveName(o.release, key))
	if o.tests {
		return runTests(ctx, o, o.path(testsName(o.release, key)), stdout, stderr)
	}
	if o.nameOnly {
		fmt.Fprintf(stdout, "%s\n%s\n", o.image, archive)
		return nil
	}
	if _, err := os.Stat(archive); err != nil || o.debianAgain {
		if err := missing(o); err != nil {
			return err
		}
		unlock, err := lock(o.path("lock"))
		if err != nil {
			return err
		}
		defer unlock()
		if err := produce(ctx, o, archive, stderr); err != nil {
			return err
		}
		if err := retire(o.cache, o.release, (&build{options: o}).debianDir()); err != nil {
			return err
		}
	}
	if o.load {
		if err := load(ctx, o, archive, stderr); err != nil {
			return err
		}
	}
	fmt.Fprintf(stdout, "%s\n%s\n", o.image, archive)
	return nil
}

// runTests makes the archive of the test images, unless it exists, and writes its path to stdout. "vsphere-sandbox conformance" loads
// it into the nodes.
func runTests(ctx context.Context, o *options, archive string, stdout, stderr io.Writer) error {
	if o.load {
		return errors.New("-load is for the node image: conformance loads the test images itself")
	}
	if _, err := os.Stat(archive); !o.nameOnly && (err != nil || o.debianAgain) {
		if err := missing(o); err != nil {
			return err
		}
		unlock, err := lock(o.path("lock-tests"))
		if err != nil {
			return err
		}
		defer unlock()
		if err := produceTests(ctx, o, archive, stderr); err != nil {
			return err
		}
		if err := retireTests(o.cache, o.release, archive); err != nil {
			return err
		}
	}
	fmt.Fprintln(stdout, archive)
	return nil
}

// retireTests removes all archives of a release's test images but the current one.
func retireTests(cache string, r release, current string) error {
	archives, err := filepath.Glob(filepath.Join(cache, testsName(r, "*")+"*"))
	for _, path := range archives {
		if path != current {
			err = errors.Join(err, os.Remove(path))
		}
	}
	return err
}

// archiveName is the name of an image's archive in the cache.
func archiveName(r release, key string) string { return "node-" + r.version + "-" + key + ".tar" }

// kept is the number of archives of a release in the cache: that of the newest image, and the one before it for comparisons.
const kept = 2

// retire removes all archives of the release from the cache but the youngest, what a build that was cut off has left of one, and
// Debian's packages of other lists than current.
func retire(cache string, r release, current string) error {
	archives, err := filepath.Glob(filepath.Join(cache, archiveName(r, "*")))
	if err != nil {
		return err
	}
	type aged struct {
		path string
		info fs.FileInfo
	}
	var all []aged
	for _, path := range archives {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		all = append(all, aged{path, info})
	}
	slices.SortFunc(all, func(a, b aged) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), cmp.Compare(a.path, b.path))
	})
	var errs []error
	for _, old := range all[min(kept, len(all)):] {
		errs = append(errs, os.Remove(old.path))
	}
	// Before archives were named by their release, they were named by their hash alone.
	for _, pattern := range []string{"node-[0-9a-f]*.tar", "node-*.tar.new", "debian-*"} {
		left, err := filepath.Glob(filepath.Join(cache, pattern))
		if err != nil {
			return err
		}
		for _, path := range left {
			if path != current {
				errs = append(errs, remove(path))
			}
		}
	}
	return errors.Join(errs...)
}

// inputs is a hash of all that decides what is in an image: the files of this folder but its texts, its tests and the module files
// of other releases, the release, that of Go, the architecture. It is 12 hexadecimal digits, and the same on every machine.
func inputs(source string, r release) (string, error) {
	all := sha256.New()
	fmt.Fprintln(all, r.version, runtime.Version(), runtime.GOARCH)
	err := filepath.WalkDir(source, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(source, file)
		if err != nil {
			return err
		}
		if !input(filepath.ToSlash(name), r) {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		// Of a file's mode, only whether it is a program gets into the image.
		fmt.Fprintf(all, "%s %t %x\n", filepath.ToSlash(name), info.Mode()&0o111 != 0, sha256.Sum256(data))
		return nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", all.Sum(nil))[:12], nil
}

// input reports whether a file, given its slash-separated path, affects the image of a release.
func input(name string, r release) bool {
	switch folder, file := path.Split(name); {
	case folder == "programs/kube/" && (path.Ext(file) == ".mod" || path.Ext(file) == ".sum"):
		return strings.TrimSuffix(file, path.Ext(file)) == strings.TrimSuffix(r.modFile(), ".mod")
	case strings.HasPrefix(name, "programs/"), strings.HasPrefix(name, "rootfs/"):
		return !strings.HasSuffix(name, "_test.go")
	case strings.Contains(name, "/"):
		return false
	default:
		return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
	}
}

// roomy is what an image, what it is made of and what Go keeps take, in bytes.
const roomy = 8 << 30

// missing returns an error with everything that prevents building an image, before anything is built.
func missing(o *options) error {
	var all []error
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		all = append(all, fmt.Errorf("%s/%s: node images are made on linux/amd64", runtime.GOOS, runtime.GOARCH))
	}
	if os.Geteuid() != 0 {
		all = append(all, errors.New("not root: debootstrap and the node's containerd need it; try sudo"))
	}
	for _, program := range []string{"debootstrap", "zstd", "tar", "cp"} {
		if _, err := exec.LookPath(program); err != nil {
			all = append(all, fmt.Errorf("%s is not installed: try apt-get install --no-install-recommends debootstrap zstd", program))
		}
	}
	if _, err := exec.LookPath("go"); err != nil {
		all = append(all, errors.New("go is not installed: https://go.dev/dl has it"))
	}
	if o.load {
		if _, err := exec.LookPath("docker"); err != nil {
			all = append(all, errors.New("docker is not installed, which -load needs: try apt-get install --no-install-recommends docker.io"))
		}
	}
	if err := os.MkdirAll(o.cache, 0o755); err != nil {
		return errors.Join(append(all, err)...)
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(o.cache, &disk); err != nil {
		all = append(all, err)
	} else if free := disk.Bavail * uint64(disk.Bsize); free < roomy {
		all = append(all, fmt.Errorf("%s has %d MiB left, %d are needed: give -cache a folder on another disk", o.cache, free>>20, uint64(roomy)>>20))
	}
	return errors.Join(all...)
}

// options are what the command line asks for.
type options struct {
	// source is this folder, cache where everything that is made is kept.
	source, cache string
	// repository is the image's name without the tag; image has the tag, which is the hash of the inputs.
	repository, image           string
	release                     release
	load, nameOnly, debianAgain bool
	// tests asks for the images of Kubernetes' conformance tests in place of the node image.
	tests bool
	// mirror is Debian's, as debootstrap takes it.
	mirror string
}

func parse(args []string) (*options, error) {
	o := &options{}
	kubernetes := releases()[0].name()
	fs := flag.NewFlagSet("kind-node", flag.ContinueOnError)
	fs.StringVar(&o.source, "source", ".", "the `folder` with programs and rootfs")
	fs.StringVar(&o.cache, "cache", "", "the `folder` for what is made, some 2 GB (vsphere-sandbox/kind-node in the user's cache)")
	fs.StringVar(&o.repository, "repository", "vsphere-sandbox/kind-node", "the image's `name`; its tag is a hash of the inputs")
	fs.StringVar(&kubernetes, "kubernetes", kubernetes, "the node's Kubernetes `release`: "+strings.Join(names(), ", "))
	fs.StringVar(&o.mirror, "mirror", "http://deb.debian.org/debian", "Debian's `address`")
	fs.BoolVar(&o.load, "load", false, "give the image to docker, unless it has it")
	fs.BoolVar(&o.tests, "tests", false, "make the images that Kubernetes' conformance tests run, not the node image, and print the archive's path")
	fs.BoolVar(&o.nameOnly, "name", false, "print the image's name and the archive's path, make nothing")
	fs.BoolVar(&o.debianAgain, "debian-again", false, "download Debian's packages again")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", fs.Arg(0))
	}
	if o.cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("%w: give -cache", err)
		}
		o.cache = filepath.Join(dir, "vsphere-sandbox", "kind-node")
	}
	var err error
	if o.release, err = find(kubernetes); err != nil {
		return nil, err
	}
	if o.source, err = filepath.Abs(o.source); err != nil {
		return nil, err
	}
	o.cache, err = filepath.Abs(o.cache)
	return o, err
}

// path is that of a file in the cache.
func (o *options) path(name string) string { return filepath.Join(o.cache, name) }

// lock keeps a second build out of the cache; the process's end unlocks it too.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%s: another build is at work there: wait for it, or give -cache", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// load gives an archive to docker, whichever DOCKER_HOST or the current context names, unless it has the image: one with
// Debian's packages of another day goes by the same name.
func load(ctx context.Context, o *options, archive string, w io.Writer) error {
	if err := command(ctx, "", nil, "docker", "version", "--format", "{{.Server.Version}}"); err != nil {
		return fmt.Errorf("no Docker to load the image into: %w\nhack/kind-node/dockerd starts one of your own", err)
	}
	if err := command(ctx, "", nil, "docker", "image", "inspect", o.image); err == nil && !o.debianAgain {
		fmt.Fprintf(w, "docker has %s\n", o.image)
		return nil
	}
	return step(w, "the archive into docker", func() error {
		return command(ctx, "", nil, "docker", "load", "--quiet", "--input", archive)
	})
}
