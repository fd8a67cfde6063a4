package config

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// ReadSecretsDirectory reads a directory that has a file for each key of a Secret, as a kubelet mounts it. An error concerns
// the directory; unreadable files are among the Secret's problems.
func ReadSecretsDirectory(dir string) (*Secret, error) {
	data, broken, err := readSecretFiles(dir)
	if err != nil {
		return nil, fmt.Errorf("secrets directory: %w", err)
	}
	s := ParseSecret(dir, data)
	s.problems = append(broken, s.problems...)
	return s, nil
}

// readSecretFiles returns the content of the files by name.
func readSecretFiles(dir string) (data map[string][]byte, broken []Problem, err error) {
	// A kubelet keeps the files in a subdirectory that it replaces as a whole. Reading that one never combines an old user
	// name with a new password.
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
			continue // a directory, or a pipe, which has no end
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

// Directory is a secrets directory that is watched for changes. Create it with [NewDirectory]. All methods are safe for
// concurrent use.
type Directory struct {
	path  string
	watch poller
}

// NewDirectory reads a directory and returns a Directory that Run reads again every period, 2 s when zero. Run calls changed
// after every change of the content with nil, and with the error when the directory becomes unreadable.
//
// It polls, because on the file systems of Secrets notifications depend on how the kubelet swaps directories, and reading
// a few small files takes microseconds.
func NewDirectory(path string, period time.Duration, changed func(error)) *Directory {
	d := &Directory{path: path}
	d.watch = newPoller(period, d.fingerprint, changed)
	return d
}

// Run watches the directory until ctx ends. It must be called once.
func (d *Directory) Run(ctx context.Context) { d.watch.run(ctx) }

// Credentials returns the directory's current credentials of a connection, as [Secret.For] does, whether Run runs or not.
func (d *Directory) Credentials(names ...string) (Credentials, error) {
	s, err := ReadSecretsDirectory(d.path)
	if err != nil {
		return Credentials{}, err
	}
	c, err := s.For(names...)
	if err != nil {
		return c, fmt.Errorf("secrets directory %s: %w", d.path, err)
	}
	return c, nil
}

// fingerprint returns a hash of the content.
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

// file is a configuration as written, in any format: nothing is inherited, and only types are checked.
type file struct {
	format   Format
	global   endpoint
	vcenters map[string]*endpoint // by tenant
	labels   labels
	nodes    nodes

	nsxt      nsxt
	balancers balancers
	classes   map[string]*balancerClass
	route     routes
	// skipNodeDeletion and alphaDualStack come from the environment.
	skipNodeDeletion, alphaDualStack bool
	// incomplete reports that a section that may be a vCenter's could not be read.
	incomplete bool
	// name is the name of the file, for problems without a line.
	name string
}

// endpoint is the global section or one vCenter, which inherits from the global section.
type endpoint struct {
	at position // of the section

	server, user, password        cell[string]
	port, soapRoundtripCount      cell[int]
	insecureFlag                  cell[bool]
	caFile, thumbprint            cell[string]
	datacenters, ipFamily         cell[[]string]
	secretName, secretNamespace   cell[string]
	secretsDirectory, datacenter1 cell[string] // only in the global section; the second is from the in-tree provider's old format
}

type labels struct {
	region, zone cell[string]
}

// nodes holds comma-separated lists, as upstream does.
type nodes struct {
	internalSubnets, externalSubnets               cell[string]
	internalNetwork, externalNetwork               cell[string]
	excludeInternalSubnets, excludeExternalSubnets cell[string]
}

// vcenter returns the endpoint of a tenant, created at the position if it does not exist.
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

// environment is the file name of the environment in positions.
const environment = "environment"

// readEnvironment overrides the file with environment variables. Their names are upstream's:
//   - VSPHERE_USER and so on set the global section, labels and nodes, NSXT_USERNAME and so on the section nsxt;
//   - VSPHERE_VCENTER_<id> identifies a vCenter by tenant or server, one of the file's or a new one, and
//     VCENTER_<id>_USERNAME and so on set its values;
//   - SKIP_NODE_DELETION and ENABLE_ALPHA_DUAL_STACK count if they are set.
//
// Except for the last two, an empty variable counts as not set. Unknown variables are ignored.
func (f *file) readEnvironment(environ []string, p *problems) {
	vars := map[string]string{}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok {
			vars[name] = value
		}
	}
	global := map[string]bool{}
	setVars(vars, varPrefix, &f.global, globalFields(), global, p)
	setVars(vars, varPrefix, &f.labels, labelFields(), global, p)
	setVars(vars, varPrefix, &f.nodes, nodeFields(), global, p)
	setVars(vars, nsxtPrefix, &f.nsxt, nsxtFields(), global, p)

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
	f.skipNodeDeletion = isSet(vars, "SKIP_NODE_DELETION", p)
	f.alphaDualStack = isSet(vars, "ENABLE_ALPHA_DUAL_STACK", p)
}

// Prefixes of variables.
const (
	varPrefix  = "VSPHERE_"
	nsxtPrefix = "NSXT_"
)

// setVars sets the cells of one section and records the known variables.
func setVars[S any](vars map[string]string, prefix string, into *S, fields []field[S], known map[string]bool, p *problems) {
	for _, f := range fields {
		if f.env == "" {
			continue
		}
		name := prefix + f.env
		known[name] = true
		if vars[name] != "" {
			setText(f.into(into), vars[name], inEnvironment(name), p)
		}
	}
}

// endpoint returns the vCenter with this tenant name, else with this server, else a new one.
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

// isSet reports whether a variable is set, with any value, as upstream does.
func isSet(vars map[string]string, name string, p *problems) bool {
	value, ok := vars[name]
	if b, isBool := parseBool(value); ok && isBool && !b {
		p.warn(inEnvironment(name), "counts as set: its value %q is ignored", value)
	}
	return ok
}

func inEnvironment(name string) position { return position{file: environment, path: name} }

var scheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// withoutLogin returns text that should be a host without the user and password in https://user:password@host.
func withoutLogin(host string) string {
	begin, at := len(scheme.FindString(host)), strings.LastIndex(host, "@")
	if at < begin || !strings.Contains(host[begin:at], ":") {
		return host
	}
	return host[:begin] + "…" + host[at:]
}

// hostKey returns a canonical form of a host, without case, brackets around an IPv6 address, and its leading zeros.
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

// hostProblem returns why text is not a host, or ""; the message is a format for [withoutLogin] of it.
func hostProblem(text string) (message, hint string) {
	const needed = "%q: must be a host name or address without scheme, port or path"
	if host, port, err := net.SplitHostPort(withoutScheme(text)); err == nil && isHost(host) && port != "" && strings.Trim(port, "0123456789") == "" {
		return needed, "write " + host + " and port " + port
	} else if host := withoutScheme(text); host != text && isHost(host) {
		return needed, "write " + host
	}
	if strings.ContainsAny(text, "/ \t") {
		return needed, ""
	}
	bare := strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	if _, err := netip.ParseAddr(bare); err == nil {
		return "", ""
	}
	if strings.Contains(text, ":") {
		return needed, ""
	}
	return "", ""
}

// withoutScheme returns the host and port of a URL without a login, and other text as it is.
func withoutScheme(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil {
		return text
	}
	return u.Host
}

// isHost reports whether text has nothing that no host name and address has.
func isHost(text string) bool { return text != "" && !strings.ContainsAny(text, "/@ \t") }
