package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ReadSecretsDirectory reads a directory that has a file for each key of a Secret, as a kubelet mounts one. The error
// is one of the directory; a file that cannot be read is among the Secret's problems.
func ReadSecretsDirectory(dir string) (*Secret, error) {
	data, broken, err := readSecretFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("secrets directory: %w", err)
	}
	s := ParseSecret(dir, data)
	s.problems = append(broken, s.problems...)
	return s, nil
}

// readSecretFiles returns the content of the files by their names.
func readSecretFiles(dir string) (data map[string][]byte, broken []Problem, err error) {
	// A kubelet keeps the files in a directory of their own, which it replaces as a whole: reading that one, a user name
	// of before and a password of after are never taken together.
	from := dir
	if whole, err := filepath.EvalSymlinks(filepath.Join(dir, "..data")); err == nil {
		from = whole
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return nil, nil, err
	}
	data = map[string][]byte{}
	for _, e := range entries {
		path := filepath.Join(from, e.Name())
		info, err := os.Stat(path)
		switch {
		case strings.HasPrefix(e.Name(), ".."):
			continue
		case err == nil && !info.Mode().IsRegular():
			continue // a directory, or a pipe that would never end
		case err == nil && info.Size() > MaxSize:
			err = fmt.Errorf("file is larger than %d bytes", MaxSize)
		case err == nil:
			data[e.Name()], err = os.ReadFile(path)
		}
		if err != nil {
			broken = append(broken, Problem{File: dir, Path: e.Name(), Message: err.Error(), Warning: true})
		}
	}
	return data, broken, nil
}

// Directory is a secrets directory that is followed as it changes. Make one with [NewDirectory]. All methods may be
// called from any goroutine.
type Directory struct {
	path  string
	watch watch
}

// NewDirectory returns a Directory that Run looks at once in every period, 2 s when zero, and that reads it for the
// first time here. changed is called from Run's goroutine after every change of the content, with nil, and with the
// reason when the directory can be read no more.
//
// It looks again and again, and is not notified: on the file systems that Secrets are mounted from notifications depend
// on how the kubelet swaps directories, and a handful of small files is read in microseconds.
func NewDirectory(path string, period time.Duration, changed func(error)) *Directory {
	d := &Directory{path: path}
	d.watch = newWatch(period, d.fingerprint, changed)
	return d
}

// Run follows the directory until ctx ends. It is to be called once.
func (d *Directory) Run(ctx context.Context) { d.watch.run(ctx) }

// Credentials returns what the directory says of a server at this moment, whether Run runs or not.
func (d *Directory) Credentials(server string) (Credentials, error) {
	s, err := ReadSecretsDirectory(d.path)
	if err != nil {
		return Credentials{}, err
	}
	c, err := s.For(server)
	if err != nil {
		return c, fmt.Errorf("secrets directory %s: %w", d.path, err)
	}
	return c, nil
}

// fingerprint differs when the content does.
func (d *Directory) fingerprint() (string, error) {
	data, broken, err := readSecretFiles(d.path)
	if err != nil {
		return "", fmt.Errorf("secrets directory: %w", err)
	}
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(h, "%q %q\n", key, data[key])
	}
	for _, p := range broken {
		fmt.Fprintln(h, p)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// file is a configuration as written, whichever form it is written in: nothing inherited, nothing checked but types.
type file struct {
	format   Format
	global   endpoint
	vcenters map[string]*endpoint // by tenant
	labels   labels
	nodes    nodes
	// skipNodeDeletion and alphaDualStack are what the environment switches on.
	skipNodeDeletion, alphaDualStack bool
	// lost is set when a section that may be a vCenter's could not be read.
	lost bool
	// name is that of the file itself, for what has no line.
	name string
}

// endpoint is the global section or one vCenter; the second inherits from the first.
type endpoint struct {
	at position // of the section

	server, user, password        cell[string]
	port, soapRoundtripCount      cell[int]
	insecureFlag                  cell[bool]
	caFile, thumbprint            cell[string]
	datacenters, ipFamily         cell[[]string]
	secretName, secretNamespace   cell[string]
	secretsDirectory, datacenter1 cell[string] // the global section's; the second is the in-tree provider's, in its old form
}

type labels struct {
	region, zone cell[string]
}

// nodes holds lists with commas, as upstream has them.
type nodes struct {
	internalSubnets, externalSubnets               cell[string]
	internalNetwork, externalNetwork               cell[string]
	excludeInternalSubnets, excludeExternalSubnets cell[string]
}

// vcenter returns the endpoint of a tenant, made at the position when there was none.
func (f *file) vcenter(tenant string, at position) *endpoint {
	e := f.vcenters[tenant]
	if e == nil {
		if f.vcenters == nil {
			f.vcenters = map[string]*endpoint{}
		}
		e = &endpoint{at: at}
		f.vcenters[tenant] = e
	}
	return e
}

// environment stands for a file's name in positions.
const environment = "environment"

// readEnvironment puts environment variables over what the file says. Their names are upstream's:
//   - VSPHERE_USER and the like set the global section, labels and nodes;
//   - VSPHERE_VCENTER_<id> names a vCenter by its tenant or its server, one of the file's or one more, and
//     VCENTER_<id>_USERNAME and the like set its values;
//   - SKIP_NODE_DELETION and ENABLE_ALPHA_DUAL_STACK count by being there.
//
// A variable that is empty counts as absent, these two excepted; one that nobody knows is somebody else's.
func (f *file) readEnvironment(environ []string, p *problems) {
	vars := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			vars[name] = value
		}
	}
	global := map[string]bool{}
	setVars(vars, &f.global, globalFields(), global, p)
	setVars(vars, &f.labels, labelFields(), global, p)
	setVars(vars, &f.nodes, nodeFields(), global, p)

	for _, name := range slices.Sorted(maps.Keys(vars)) {
		id, ok := strings.CutPrefix(name, "VSPHERE_VCENTER_")
		if !ok || id == "" || global[name] || vars[name] == "" {
			continue
		}
		e := f.endpoint(vars[name], inEnvironment(name))
		for _, field := range vcenterFields() {
			if name := "VCENTER_" + id + "_" + field.vcEnv; field.vcEnv != "" && vars[name] != "" {
				setText(field.into(e), vars[name], inEnvironment(name), p)
			}
		}
	}
	f.skipNodeDeletion = switched(vars, "SKIP_NODE_DELETION", p)
	f.alphaDualStack = switched(vars, "ENABLE_ALPHA_DUAL_STACK", p)
}

// setVars sets the cells of one section, and notes which variables are known here.
func setVars[S any](vars map[string]string, into *S, fields []field[S], known map[string]bool, p *problems) {
	for _, f := range fields {
		if f.env == "" {
			continue
		}
		name := "VSPHERE_" + f.env
		known[name] = true
		if vars[name] != "" {
			setText(f.into(into), vars[name], inEnvironment(name), p)
		}
	}
}

// endpoint returns the vCenter of a tenant's name or, failing that, a server; a new one when the file has neither.
func (f *file) endpoint(name string, at position) *endpoint {
	if e := f.vcenters[name]; e != nil {
		return e
	}
	for _, tenant := range slices.Sorted(maps.Keys(f.vcenters)) {
		if e := f.vcenters[tenant]; sameHost(e.server.value, name) || strings.EqualFold(tenant, name) {
			return e
		}
	}
	e := f.vcenter(name, at)
	e.server.put(name, at)
	return e
}

// switched reports whether a variable is there, whatever its value: upstream does not look at it.
func switched(vars map[string]string, name string, p *problems) bool {
	value, ok := vars[name]
	if b, isBool := parseBool(value); ok && isBool && !b {
		p.warn(inEnvironment(name), "counts as set: its value %q is not looked at", value)
	}
	return ok
}

func inEnvironment(name string) position { return position{file: environment, path: name} }

var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// withoutLogin is what is meant to be a host without the user and password before it, as https://user:password@host has them.
func withoutLogin(host string) string {
	begin, at := len(scheme.FindString(host)), strings.LastIndex(host, "@")
	if at < begin || !strings.Contains(host[begin:at], ":") {
		return host
	}
	return host[:begin] + "…" + host[at:]
}

// hostKey makes the ways to write a host one: case, brackets around an IPv6 address and its zeros count for nothing.
func hostKey(host string) string {
	host = strings.ToLower(strings.TrimSpace(host))
	if bare, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(bare, "]")
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return strings.TrimSuffix(host, ".")
}

func sameHost(a, b string) bool { return hostKey(a) == hostKey(b) }

// hostProblem says what keeps text from being a host; the message is a format for [withoutLogin] of it.
func hostProblem(text string) (message, hint string) {
	const needed = "%q: a host name or address is needed, without scheme, port or path"
	if strings.ContainsAny(text, "/ \t") {
		return needed, ""
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if _, err := netip.ParseAddr(bare); err == nil {
		return "", ""
	}
	if host, port, ok := strings.Cut(text, ":"); ok {
		if strings.Trim(port, "0123456789") == "" && port != "" {
			return needed, "write " + host + " and port " + port
		}
		return needed, ""
	}
	return "", ""
}
