package readers

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// readOurs is [readUpstream] for the reader of pkg/provider/config.
func readOurs(cfg *config.Config) reading {
	r := reading{VCenters: map[string]vcenter{}, Region: cfg.Labels.Region, Zone: cfg.Labels.Zone}
	for _, vc := range cfg.VCenters {
		v := vcenter{
			Server: vc.Server, Port: fmt.Sprint(vc.Port), User: vc.User, Password: vc.Password, Directory: vc.SecretsDirectory,
			Insecure: vc.InsecureFlag, CAFile: vc.CAFile, Thumbprint: vc.Thumbprint, Datacenters: vc.Datacenters,
			Roundtrips: uint(vc.SOAPRoundtripCount),
		}
		if vc.Secret != (config.SecretRef{}) {
			v.Secret = vc.Secret.Namespace + "/" + vc.Secret.Name
		}
		for _, f := range vc.IPFamilies {
			v.IPFamilies = append(v.IPFamilies, string(f))
		}
		r.VCenters[vc.Tenant] = v
	}
	list := func(of any) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(of), " ", ","), "[]") }
	n := cfg.Nodes
	r.Nodes = nodes{
		list(n.InternalSubnets), list(n.ExternalSubnets), n.InternalVMNetwork, n.ExternalVMNetwork,
		list(n.ExcludeInternalSubnets), list(n.ExcludeExternalSubnets),
	}
	return r
}

// writer writes random configurations, in either format.
type writer struct {
	*rand.Rand
	ini bool
}

func (w writer) of(all ...string) string { return all[w.IntN(len(all))] }

// text returns a value that YAML or INI could take for something else.
func (w writer) text() string {
	pieces := strings.Split(`a b yes no on null ~ 0 0x1F 1e3 12:30 : # ; ' " \ ! & * @ % { } [ ] , | > - = << ä ✓ . / $`, " ")
	var b strings.Builder
	for range 1 + w.IntN(5) {
		b.WriteString(w.of(pieces...))
		if w.IntN(5) == 0 {
			b.WriteString(" ")
		}
	}
	return b.String()
}

// name returns text without spaces at its ends and without commas, which are those of a list.
func (w writer) name() string {
	name := strings.Trim(strings.ReplaceAll(w.text(), ",", ""), " /")
	if name == "" || name == "~" {
		return "dc"
	}
	return name
}

func (w writer) quote(text string) string {
	if w.ini {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
	}
	if w.IntN(2) == 0 {
		return "'" + strings.ReplaceAll(text, "'", "''") + "'"
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// line writes one key.
func (w writer) line(indent, yaml, ini, value string) string {
	if w.ini {
		return ini + " = " + value + "\n"
	}
	return indent + yaml + ": " + value + "\n"
}

func (w writer) list(items ...string) string {
	if w.ini {
		return w.quote(strings.Join(items, ", "))
	}
	for i := range items {
		items[i] = w.quote(items[i])
	}
	return "[" + strings.Join(items, ", ") + "]"
}

// section writes what a vCenter and the global section have in common; login is the kind of the login.
func (w writer) section(indent, login string) string {
	var b strings.Builder
	maybe := func(yaml, ini, value string) {
		if w.IntN(3) == 0 {
			b.WriteString(w.line(indent, yaml, ini, value))
		}
	}
	maybe("port", "port", w.of("0", "443", "8443", `""`))
	maybe("insecureFlag", "insecure-flag", "true")
	maybe("caFile", "ca-file", w.quote(w.of("", "/etc/ca file.crt", "/ca.crt")))
	maybe("thumbprint", "thumbprint", w.quote(w.of("", "27:8F:1B:9A:F2:DC:20:BA:67:97:E1:C6:AE:51:07:48:B0:D4:6A:43")))
	maybe("soapRoundtripCount", "soap-roundtrip-count", w.of("0", "1", "7"))
	maybe("datacenters", "datacenters", w.list(w.name()+"1", "/eu/"+w.name(), "Datacenter:datacenter-3"))
	maybe("ipFamily", "ip-family", w.list(w.of("ipv4", "ipv6")))
	switch login {
	case "user":
		b.WriteString(w.line(indent, "user", "user", w.quote(w.text())) + w.line(indent, "password", "password", w.quote(w.text())))
	case "secret":
		b.WriteString(w.line(indent, "secretName", "secret-name", w.of("creds", "s-1")) + w.line(indent, "secretNamespace", "secret-namespace", "kube-system"))
	case "directory":
		b.WriteString(w.line(indent, "secretsDirectory", "secrets-directory", "/var/empty/none"))
	}
	return b.String()
}

// file writes a whole configuration. Either the global section or every vCenter has a login.
func (w writer) file() string {
	global := w.of("user", "secret", "user", "")
	var b strings.Builder
	b.WriteString(map[bool]string{true: "[Global]\n", false: "global:\n  apiBinding: ''\n"}[w.ini] + w.section("  ", global))
	if !w.ini {
		b.WriteString("vcenter:\n")
	}
	for i := range 1 + w.IntN(3) {
		tenant := w.of("vc", "Main DC", w.name()) + fmt.Sprint(i)
		own := w.of("user", "secret")
		if global != "" && w.IntN(2) == 0 {
			own = ""
		}
		server := w.of("vc-1.lab.example", "192.0.2.7", "fd01::1", "VC-2")
		if w.ini {
			fmt.Fprintf(&b, "[VirtualCenter %s]\nserver = %s\n", w.quote(tenant), w.quote(server))
		} else {
			fmt.Fprintf(&b, "  %s:\n    server: %s\n", w.quote(tenant), w.quote(server))
		}
		b.WriteString(w.section("    ", own))
	}
	if w.IntN(2) == 0 {
		b.WriteString(map[bool]string{true: "[Labels]\n", false: "labels:\n"}[w.ini])
		b.WriteString(w.line("  ", "region", "region", w.quote(w.text())) + w.line("  ", "zone", "zone", w.quote(w.text())))
	}
	if w.IntN(2) == 0 {
		b.WriteString(map[bool]string{true: "[Nodes]\n", false: "nodes:\n"}[w.ini])
		b.WriteString(w.line("  ", "internalNetworkSubnetCidr", "internal-network-subnet-cidr", w.quote("10.0.0.0/8,2001:db8::/32")))
		b.WriteString(w.line("  ", "externalVmNetworkName", "external-vm-network-name", w.quote(w.name())))
	}
	return b.String()
}

// What a random file means to our reader, [config.Config.YAML] writes so that both readers read just that; and upstream reads
// the file itself to the same, unless it is among the known differences.
func TestRenderedIsReadAlike(t *testing.T) {
	const seed, files = 21, 3000
	random := rand.New(rand.NewPCG(seed, seed))
	loaded, alike := 0, 0
	for i := range files {
		w := writer{Rand: random, ini: i%2 == 1}
		text := w.file()
		cfg, err := config.Load("generated", []byte(text))
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		loaded++
		rendered, err := cfg.YAML()
		if err != nil {
			t.Fatal(err)
		}
		want := readOurs(cfg)
		again, err := config.Load("rendered", rendered)
		if err != nil {
			t.Fatalf("%v\n%s", err, rendered)
		}
		if diff := cmp.Diff(want, readOurs(again), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("ours (-file +rendered):\n%s\n%s", diff, rendered)
		}
		if diff := cmp.Diff(want, readUpstream(rendered), cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("upstream (-ours +upstream):\n%s\n%s", diff, rendered)
		}
		if direct := readUpstream([]byte(text)); cmp.Equal(want, direct, cmpopts.EquateEmpty()) {
			alike++
		} else if !known(text, direct) {
			t.Errorf("the file itself (-ours +upstream):\n%s\n%s", cmp.Diff(want, direct, cmpopts.EquateEmpty()), text)
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d of %d files were loaded, %d of them read alike without being rendered", loaded, files, alike)
}

// known reports whether a file has one of the differences of docs/provider.md.
func known(text string, upstream reading) bool {
	switch {
	case strings.Contains(text, "port = 0"), strings.Contains(text, `port = ""`), strings.Contains(text, `port: ""`):
		return true
	case upstream.Error != "":
		return false
	}
	for _, vc := range upstream.VCenters { // its own login beside a global Secret
		if vc.User != "" && vc.Secret != "" || slices.Contains(vc.IPFamilies, "") {
			return true
		}
	}
	return false
}
