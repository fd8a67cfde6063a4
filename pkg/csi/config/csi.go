package config

import (
	"encoding/pem"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/nearest"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/names"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/volume"
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

const (
	longestClusterID = 64 // CNS's
	mostCategories   = 5  // upstream's
	mostVCenters     = 5  // upstream's
)

// labelDomains are the prefixes of labels that upstream's driver accepts for a tag category.
func labelDomains() []string {
	return []string{"topology.kubernetes.io", "failure-domain.beta.kubernetes.io", strings.TrimSuffix(names.TopologyPrefix, "/")}
}

// labelKey matches the key of a Kubernetes label with a prefix.
var labelKey = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// checkCSI parses and validates a csi-vsphere.conf.
func checkCSI(name string, data []byte, r ReadOptions) (*Config, []provider.Problem) {
	w := read(name, data)
	w.environment(r.Environment)
	cfg := &Config{
		Form: CSI, ClusterID: w.global.get("cluster-id").text, Distribution: w.global.get("cluster-distribution").text,
		SnapshotLimit: w.number(w.snapshot.get(globalSnapshots).orDefault(), 1, mostSnapshots, defaultSnapshots),
		Page:          min(w.number(w.global.get("query-limit").orDefault(), 1, 1<<30, defaultPage), defaultPage),
	}
	if id := w.global.get("cluster-id"); id.set && len(id.text) > longestClusterID {
		w.problem(id, "", "is longer than %d characters", longestClusterID)
	} else if !id.set {
		if cfg.ClusterID = r.ClusterID; r.ClusterID == "" && len(data) > 0 {
			w.problems = append(w.problems, noClusterID(name, "write one under [Global]"))
		}
	}
	w.topology(cfg)
	w.connect(cfg, r)
	w.netPermissions(cfg)
	return result(cfg, w.problems)
}

// globalSnapshots is the key of the maximum number of snapshots.
const globalSnapshots = "global-max-snapshots-per-block-volume"

// orDefault returns the value, or one that is not set for 0, which stands for the default.
func (v value) orDefault() value {
	if n, err := strconv.Atoi(strings.TrimSpace(v.text)); err == nil && n == 0 {
		return value{}
	}
	return v
}

// number parses a number within bounds; a missing one is otherwise.
func (w *parsedFile) number(v value, least, most, otherwise int) int {
	if !v.set {
		return otherwise
	}
	n, err := strconv.Atoi(strings.TrimSpace(v.text))
	switch {
	case err != nil:
		w.problem(v, "", "must be a whole number, not %q", v.text)
	case n < least || n > most:
		w.problem(v, "", "%d is not from %d to %d", n, least, most)
	default:
		return n
	}
	return otherwise
}

// truth parses a boolean with the words of gcfg.
func (w *parsedFile) truth(v value) bool {
	switch strings.ToLower(strings.TrimSpace(v.text)) {
	case "true", "yes", "on", "1":
		return true
	case "", "false", "no", "off", "0":
		return false
	}
	w.problem(v, "", "must be true or false, not %q", v.text)
	return false
}

// list parses a comma-separated list.
func list(v value) []string {
	var items []string
	for item := range strings.SplitSeq(v.text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// topology reads the tag categories and their labels.
func (w *parsedFile) topology(cfg *Config) {
	region, zone, categories := w.labels.get("region"), w.labels.get("zone"), w.labels.get("topology-categories")
	switch {
	case categories.set && (region.set || zone.set):
		w.problem(region.or(zone), "remove region and zone", "is set together with topology-categories, which replaces it")
	case region.set != zone.set:
		w.warn(region.or(zone), "has no effect, and upstream's nodes do not register: set both region and zone, or topology-categories = %q", region.or(zone).text)
	case region.set:
		cfg.Categories = []string{region.text, zone.text}
	default:
		cfg.Categories = list(categories)
	}
	for i, c := range cfg.Categories {
		if slices.Contains(cfg.Categories[:i], c) {
			w.problem(categories.or(zone), "", "%q is listed twice", c)
		}
	}
	if len(cfg.Categories) > mostCategories {
		w.problem(categories, "", "%d categories, at most %d are allowed", len(cfg.Categories), mostCategories)
	}
	for _, category := range sorted(w.categories) {
		v := w.categories[category].get("label")
		at := v
		if !v.set {
			at = value{line: w.categories[category].line, column: w.categories[category].column, path: w.categories[category].title}
		}
		switch {
		case !slices.Contains(cfg.Categories, category):
			w.problem(at, nearestCategory(category, cfg.Categories), "the category is not among [Labels] topology-categories")
		case !v.set:
			w.warn(at, "has no effect: its label is missing")
		case !labelKey.MatchString(v.text):
			w.problem(v, "", "%q is not the key of a label like topology.kubernetes.io/zone", v.text)
		case !slices.Contains(labelDomains(), v.text[:strings.Index(v.text, "/")]):
			w.problem(v, "", "%q: the domain of the label must be one of %s", v.text, strings.Join(labelDomains(), ", "))
		default:
			if cfg.Labels == nil {
				cfg.Labels = map[string]string{}
			}
			cfg.Labels[category] = v.text
		}
	}
}

// netPermissions reads the rights of clients to mount file volumes; the defaults are upstream's.
func (w *parsedFile) netPermissions(cfg *Config) {
	for _, name := range sorted(w.permissions) {
		of := w.permissions[name]
		p := volume.NetPermission{IPs: "*", Access: "READ_WRITE", RootSquash: w.truth(of.get("rootsquash"))}
		if v := of.get("ips"); v.set {
			p.IPs = v.text
		}
		if v := of.get("permissions"); v.set {
			if p.Access = v.text; !slices.Contains([]string{"READ_WRITE", "READ_ONLY", "NO_ACCESS"}, v.text) {
				w.problem(v, "", "%q: must be READ_WRITE, READ_ONLY or NO_ACCESS", v.text)
			}
		}
		cfg.NetPermissions = append(cfg.NetPermissions, p)
	}
}

func nearestCategory(name string, all []string) string {
	if best := nearest.Of(name, all); best != "" {
		return "did you mean " + strconv.Quote(best) + "?"
	}
	return ""
}

func (w *parsedFile) connect(cfg *Config, r ReadOptions) {
	fallback := ""
	if info, err := os.Stat(r.DefaultSecrets); r.DefaultSecrets != "" && err == nil && info.IsDir() {
		fallback = r.DefaultSecrets
	}
	names := sorted(w.vcenters)
	for i, name := range names {
		at := value{line: w.vcenters[name].line, column: w.vcenters[name].column, path: w.vcenters[name].title}
		for _, other := range names[:i] {
			if provider.SameHost(name, other) {
				w.problem(at, "", "this host is also that of %s", w.vcenters[other].title)
			}
		}
		cfg.VCenters = append(cfg.VCenters, w.vcenter(name, at, fallback))
		if url := w.vcenters[name].get("migration-datastore-url"); url.set {
			cfg.MigrationDatastores = append(cfg.MigrationDatastores, url.text)
		}
	}
	if len(names) == 0 && !w.failed() { // otherwise its section may be the one that is not readable
		w.problem(value{}, `write a section [VirtualCenter "HOST"]`, "no vCenter is configured")
	}
	refuse := func(format string, args ...any) {
		w.problem(value{}, "", format, args...)
		w.problems[len(w.problems)-1].Warning = r.BeyondUpstream
	}
	if len(names) > mostVCenters {
		refuse("%d vCenters, at most %d are allowed", len(names), mostVCenters)
	}
	if len(names) > 1 && len(cfg.Categories) == 0 {
		refuse("several vCenters, and no topology-categories under [Labels]: no volume is reachable from every node")
	}
}

var thumbprint = regexp.MustCompile(`^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){19}$|^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){31}$`)

// vcenter reads one vCenter, which inherits from the global section.
func (w *parsedFile) vcenter(name string, at value, fallback string) VCenter {
	own := w.vcenters[name]
	get := func(key string) value { return own.get(key).or(w.global.get(key)) }
	if message, hint := provider.HostProblem(name); message != "" {
		w.problem(at, hint, "%s", message)
	}
	vc := VCenter{
		Tenant:             name,
		Server:             strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"),
		Port:               w.number(get("port"), 1, 65535, 443),
		InsecureFlag:       w.truth(get("insecure-flag")),
		CAFile:             get("ca-file").text,
		Thumbprint:         get("thumbprint").text,
		Datacenters:        list(get("datacenters")),
		SOAPRoundtripCount: 3,
	}
	if v := get("thumbprint"); v.set && !thumbprint.MatchString(v.text) {
		w.problem(v, "", "%q: must be a SHA-1 or SHA-256 fingerprint with colons", v.text)
	}
	user, password := get("user"), get("password")
	switch {
	case user.set && password.set:
		vc.User, vc.Password = user.text, password.text
		if block, _ := pem.Decode([]byte(user.text)); block == nil && !strings.ContainsAny(user.text, `@\`) {
			w.warn(user, `%q has no domain, as in user@domain or domain\user: upstream's driver refuses it`, user.text)
		}
	case fallback != "" && !user.set && !password.set:
		vc.SecretsDirectory = fallback
	default:
		if !w.unreadable { // what is missing may be in the line that was not readable
			w.problem(at, "", "credentials are missing: user and password are needed")
		}
	}
	return vc
}

const (
	noSupervisor   = "this driver is not for Supervisor clusters"
	anyShares      = "file volumes are on any vSAN datastore with a file service"
	noInTree       = "it is a section of the in-tree provider's vsphere.conf"
	noCollecting   = "this driver has no such objects"
	seenAtOnce     = "changes are detected immediately"
	callsAreTimely = "every call has its own deadline"
)
