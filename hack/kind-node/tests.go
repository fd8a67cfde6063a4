package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// testsName is the name of the archive of a release's test images in the cache.
func testsName(r release, key string) string { return "tests-" + r.version + "-" + key + ".tar" }

// testPackages are Debian's packages that the test images take programs from.
const testPackages = "busybox,bash,bind9-dnsutils,curl,netcat-openbsd,iproute2,nginx-light"

// testImage is an image that Kubernetes' conformance tests run.
type testImage struct {
	podImage
	// keys are its names in k8s.io/kubernetes/test/utils/image.
	keys []string
}

// testImages are all of them that the images of the cluster's own pods do not include.
func testImages() []testImage {
	agnhost := podImage{files: "agnhost", entrypoint: []string{"/agnhost"}, command: []string{"pause"}}
	server := func(files string) podImage {
		return podImage{files: files, entrypoint: []string{"/agnhost"}, command: []string{"test-webserver"}}
	}
	return []testImage{
		{agnhost, []string{"Agnhost", "AgnhostPrev"}},
		{server("nautilus"), []string{"Nautilus"}},
		{server("kitten"), []string{"Kitten"}},
		{podImage{files: "glibc", command: []string{"sh"}}, []string{"GlibcDnsTesting"}},
		{podImage{files: "busybox", command: []string{"sh"}}, []string{"BusyBox"}},
		{podImage{files: "busybox", command: []string{"sh"}, user: "1234"}, []string{"NonRoot"}},
		{podImage{files: "nonewprivs", command: []string{"nnp"}}, []string{"Nonewprivs"}},
		{podImage{files: "nginx", command: []string{"nginx", "-c", "/etc/nginx/tests.conf"}}, []string{"Nginx", "NginxNew"}},
		{podImage{files: "sample-apiserver", entrypoint: []string{"/sample-apiserver"}}, []string{"APIServer"}},
	}
}

// nginxConf is the configuration of nginx in its image: in the foreground, without files of other users.
const nginxConf = `daemon off;
user root;
pid /tmp/nginx.pid;
error_log /dev/stderr;
events {}
http {
	access_log /dev/stdout;
	types { text/html html; }
	server { listen 80; root /usr/share/nginx/html; }
}
`

// namesProgram prints the full names of the images that a release's tests ask for, a key and a name on each line.
const namesProgram = `package main

import (
	"fmt"

	"k8s.io/kubernetes/test/utils/image"
)

func main() {
	for key, id := range map[string]image.ImageID{%s} {
		fmt.Println(key, image.GetE2EImage(id))
	}
}
`

// produceTests makes the archive of a release's test images: an OCI layout in a tar.
func produceTests(ctx context.Context, o *options, archive string, w io.Writer) error {
	work := o.path("work-tests")
	if err := remove(work); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(work, "programs"), 0o755); err != nil {
		return err
	}
	b := &build{options: o, work: work}
	t := &tests{build: b}
	for _, s := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"Debian's packages of the test images (a minute; kept)", t.debian},
		{"agnhost and sample-apiserver (2 minutes, or seconds)", t.programs},
		{"the test images", t.layOut},
		{"the archive of the test images", func(ctx context.Context) error {
			if err := writeLayout(ctx, b.in("images"), b.in("layout"), t.images); err != nil {
				return err
			}
			if err := pack(ctx, b.in("layout"), archive+".new"); err != nil {
				return err
			}
			return os.Rename(archive+".new", archive)
		}},
	} {
		if err := step(w, s.name, func() error { return s.do(ctx) }); err != nil {
			return err
		}
	}
	return remove(work)
}

// tests is an archive of test images in the making.
type tests struct {
	*build
	// kubernetes is the folder of the module k8s.io/kubernetes, names the lines that namesProgram prints.
	kubernetes string
	names      map[string]string
	images     []podImage
}

func (t *tests) debianDir() string {
	return t.path(fmt.Sprintf("tests-debian-%s-%.6x", suite, sha256.Sum256([]byte(testPackages))))
}

func (t *tests) debian(ctx context.Context) error {
	return t.bootstrap(ctx, t.debianDir(), testPackages)
}

// programs builds agnhost and the sample API server with the modules of the release's Kubernetes program, and asks for the images'
// names.
func (t *tests) programs(ctx context.Context) error {
	dir := t.in("module")
	if err := os.MkdirAll(filepath.Join(dir, "names"), 0o755); err != nil {
		return err
	}
	source := filepath.Join(t.source, "programs", "kube", t.release.modFile())
	modules, err := os.ReadFile(source)
	if err != nil {
		return err
	}
	var keys strings.Builder
	for _, i := range testImages() {
		for _, key := range i.keys {
			fmt.Fprintf(&keys, "%q: image.%s, ", key, key)
		}
	}
	sums, err := os.ReadFile(strings.TrimSuffix(source, "mod") + "sum")
	for name, text := range map[string]string{
		"go.mod": string(modules), "go.sum": string(sums), "names/main.go": fmt.Sprintf(namesProgram, keys.String()),
	} {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	if err != nil {
		return err
	}
	env := []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64", "GOFLAGS=-mod=mod", "GOWORK=off"}
	err = command(ctx, dir, env, "go", "build", "-buildvcs=false", "-ldflags", "-s -w", "-o", t.in("programs")+"/",
		"k8s.io/kubernetes/test/images/agnhost", "k8s.io/sample-apiserver", "./names")
	if err != nil {
		return err
	}
	if err := t.compile(ctx, "nnp", "", "", "", "."); err != nil {
		return err
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes")
	list.Dir, list.Env = dir, append(os.Environ(), env...)
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	t.kubernetes = strings.TrimSpace(string(out))
	if out, err = exec.CommandContext(ctx, t.in("programs/names")).Output(); err != nil {
		return fmt.Errorf("the names of the test images: %w", err)
	}
	t.names = map[string]string{}
	for line := range strings.Lines(string(out)) {
		if key, name, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			t.names[key] = name
		}
	}
	for _, i := range testImages() {
		image := i.podImage
		for _, key := range i.keys {
			image.names = append(image.names, t.names[key])
		}
		t.images = append(t.images, image)
	}
	return nil
}

// layOut lays the files of each image out.
func (t *tests) layOut(ctx context.Context) error {
	applets, err := t.applets(ctx)
	if err != nil {
		return err
	}
	shell := []string{"usr/bin/busybox", "usr/bin/getent", "usr/bin/bash", "usr/bin/dd"} // tests of block devices call GNU's dd, with nocache
	tools := append(slices.Clone(shell), "usr/bin/dig", "usr/bin/curl", "usr/bin/nc.openbsd", "usr/bin/ip", "usr/bin/ss")
	for files, programs := range map[string][]string{
		"busybox": shell, "nonewprivs": shell, "agnhost": tools, "glibc": tools, "nautilus": shell, "kitten": shell, "nginx": append(slices.Clone(shell), "usr/sbin/nginx"),
	} {
		if err := t.base(files, programs, applets); err != nil {
			return fmt.Errorf("image %s: %w", files, err)
		}
	}
	images := filepath.Join(t.kubernetes, "test", "images")
	for _, f := range [][2]string{
		{t.in("programs/agnhost"), "agnhost/agnhost"},
		{t.in("programs/agnhost"), "nautilus/agnhost"},
		{t.in("programs/agnhost"), "kitten/agnhost"},
		{t.in("programs/sample-apiserver"), "sample-apiserver/sample-apiserver"},
		{t.in("programs/nnp"), "nonewprivs/usr/bin/nnp"},
		{filepath.Join(images, "agnhost/porter/localhost.crt"), "agnhost/localhost.crt"},
		{filepath.Join(images, "agnhost/porter/localhost.key"), "agnhost/localhost.key"},
		{filepath.Join(images, "nautilus/html/data.json"), "nautilus/data.json"},
		{filepath.Join(images, "nautilus/html/nautilus.jpg"), "nautilus/nautilus.jpg"},
		{filepath.Join(images, "kitten/html/data.json"), "kitten/data.json"},
		{filepath.Join(images, "kitten/html/kitten.jpg"), "kitten/kitten.jpg"},
	} {
		if err := install(f[0], t.in("images/"+f[1])); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"nginx/etc/nginx/tests.conf":            nginxConf,
		"nginx/usr/share/nginx/html/index.html": "<!DOCTYPE html>\n<title>Welcome to nginx!</title>\n",
		"nginx/usr/share/nginx/html/50x.html":   "<!DOCTYPE html>\n<title>Error</title>\n",
		"nginx/var/lib/nginx/.keep":             "",
		"nginx/var/log/nginx/.keep":             "",
		"agnhost/uploads/.keep":                 "",
		"sample-apiserver/etc/nsswitch.conf":    nsswitch,
		"sample-apiserver/etc/passwd":           "root:x:0:0:root:/root:/bin/sh\n",
	} {
		path := t.in("images/" + name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	// Tests run the program by this name to see that a pod's command replaces the image's.
	if err := link("agnhost", t.in("images/agnhost/agnhost-2")); err != nil {
		return err
	}
	if err := temporary(t.in("images/sample-apiserver")); err != nil {
		return err
	}
	return os.Chmod(t.in("images/nonewprivs/usr/bin/nnp"), 0o755|fs.ModeSetuid)
}

// nsswitch has names looked up in /etc/hosts first, as in the images of Kubernetes' tests.
const nsswitch = "passwd: files\ngroup: files\nhosts: files dns\n"

// accounts are the lines that agnhost's image has in /etc/passwd and /etc/group beside those of the system.
const (
	moreUsers  = "user-defined-in-image:x:1000:1000::/home/user-defined-in-image:/bin/sh\n"
	moreGroups = "user-defined-in-image:x:1000:\ngroup-defined-in-image:x:50000:user-defined-in-image\n"
)

// base lays out programs of Debian's, what they are linked with, and busybox as all other commands.
func (t *tests) base(files string, programs, applets []string) error {
	root, to := t.debianDir(), t.in("images/"+files)
	linked, err := needed(root, programs)
	if err != nil {
		return err
	}
	for _, path := range slices.Concat(programs, linked) {
		if err := install(filepath.Join(root, path), filepath.Join(to, path)); err != nil {
			return err
		}
	}
	links := map[string]string{
		"lib": "usr/lib", "lib64": "usr/lib64", "bin": "usr/bin", "sbin": "usr/sbin", "usr/lib64/" + loader: "../lib/x86_64-linux-gnu/" + loader,
	}
	if slices.Contains(programs, "usr/bin/bash") {
		// Busybox's shell drops variables with names such as data-1, which containers have and tests look for.
		links["usr/bin/sh"] = "bash"
	}
	if slices.Contains(programs, "usr/bin/nc.openbsd") {
		links["usr/bin/nc"] = "nc.openbsd"
	}
	for _, applet := range applets {
		path := "usr/bin/" + applet
		if _, err := os.Lstat(filepath.Join(to, path)); err != nil && links[path] == "" {
			links[path] = "busybox"
		}
	}
	for path, target := range links {
		if err := link(target, filepath.Join(to, path)); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(to, "etc"), 0o755); err != nil {
		return err
	}
	texts := map[string]string{"nsswitch.conf": nsswitch}
	for name, more := range map[string]string{"passwd": moreUsers, "group": moreGroups} {
		text, err := os.ReadFile(filepath.Join(root, "etc", name))
		if err != nil {
			return err
		}
		if files != "agnhost" { // elsewhere tests expect numbers in what ls prints
			more = ""
		}
		texts[name] = string(text) + more
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(to, "etc", name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return temporary(to)
}

// temporary makes the folder for everybody's temporary files.
func temporary(root string) error {
	dir := filepath.Join(root, "tmp")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.Chmod(dir, 0o777|fs.ModeSticky)
}

var appletPattern = regexp.MustCompile(`^[a-z0-9_.\[-]+$`)

// applets are the commands that Debian's busybox has.
func (t *tests) applets(ctx context.Context) ([]string, error) {
	list := exec.CommandContext(ctx, "/bin/busybox", "--list")
	list.SysProcAttr, list.Dir = &syscall.SysProcAttr{Chroot: t.debianDir()}, "/"
	var wrong bytes.Buffer
	list.Stderr = &wrong
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("busybox: %w\n%s", err, tail(wrong.String(), 5))
	}
	var all []string
	for name := range strings.FieldsSeq(string(out)) {
		if name != "busybox" && appletPattern.MatchString(name) {
			all = append(all, name)
		}
	}
	if !slices.Contains(all, "sh") {
		return nil, fmt.Errorf("busybox --list has no sh: %s", tail(string(out), 5))
	}
	return all, nil
}
