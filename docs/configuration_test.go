package docs

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	driver "github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/config"
	provider "github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// meanings are what the keys of a vsphere.conf do, by their names in YAML, else in INI.
func meanings() map[string]string {
	return map[string]string{
		"server":                           "host name or IP address; without it the section's own name in INI",
		"port":                             "443 if not said",
		"user":                             "log in as; `DOMAIN\\\\user` in INI. Better: a Secret",
		"password":                         "never shown by any command. Better: a Secret",
		"insecureFlag":                     "true does not check the certificate",
		"caFile":                           "PEM file with the authority of the certificate; read again at every connection",
		"thumbprint":                       "SHA-1 or SHA-256 of the certificate, instead of an authority",
		"datacenters":                      "names, inventory paths or references; all if none. Named ones make sure that what cannot be seen is known to be missing",
		"soapRoundtripCount":               "how often a call is tried; 3 if not said",
		"secretName":                       "Secret with the credentials",
		"secretNamespace":                  "its namespace",
		"secretsDirectory":                 "directory with the credentials",
		"ipFamily":                         "`ipv4`, `ipv6` or both, the preferred one first; `ipv4` if not said",
		"datacenter":                       "of the in-tree provider's form without vCenter sections: its one datacenter",
		"region":                           "tag category of regions; needs `zone`, too",
		"zone":                             "tag category of zones; needs `region`, too",
		"internalNetworkSubnetCidr":        "internal addresses are those in here; several with commas",
		"externalNetworkSubnetCidr":        "external addresses are those in here",
		"internalVmNetworkName":            "internal addresses are those of NICs in this network",
		"externalVmNetworkName":            "external addresses are those of NICs in this network",
		"excludeInternalNetworkSubnetCidr": "never an internal address",
		"excludeExternalNetworkSubnetCidr": "never an external address",
		"host":                             "the NSX Manager: host or host:port; in VMware Cloud host/path",
		"clientAuthCertFile":               "PEM file of a certificate to log in with; read again at every connection",
		"clientAuthKeyFile":                "its key",
		"vmcAccessToken":                   "API token of VMware Cloud",
		"vmcAuthHost":                      "where the token is exchanged: host/path",
		"remoteAuth":                       "true: the user is one of an identity provider",
		"size":                             "of the load balancer service: SMALL, MEDIUM, LARGE, XLARGE or DLB",
		"lbServiceId":                      "load balancer service to use; without it the provider makes one at the gateway",
		"tier1GatewayPath":                 "gateway: `/infra/tier-1s/NAME`",
		"routerPath":                       "tier-1 gateway that gets the routes to pods: `/infra/tier-1s/NAME`",
		"snatDisabled":                     "true: pods see the addresses of clients",
		"tags":                             "more tags of all objects; JSON in INI. The scope `owner` replaces the provider's name",
		"ipPoolName":                       "IP pool of the addresses, by its name",
		"ipPoolId":                         "or by its identifier",
		"tcpAppProfileName":                "application profile for TCP, by its name: NSX has `default-tcp-lb-app-profile`",
		"tcpAppProfilePath":                "or by its path",
		"udpAppProfileName":                "application profile for UDP, by its name: NSX has `default-udp-lb-app-profile`",
		"udpAppProfilePath":                "or by its path",
	}
}

// csiMeanings are what the keys of a csi-vsphere.conf do that a vsphere.conf does not have.
func csiMeanings() map[string]string {
	return map[string]string{
		"cluster-id":                            "identifies the volumes of this cluster in CNS; at most 64 characters; never change it",
		"cluster-distribution":                  "what vCenter shows beside volumes as the kind of Kubernetes",
		"query-limit":                           "how many volumes CNS is asked for at once; 1000 at most, and if not said",
		"migration-datastore-url":               "datastore for volumes of the in-tree provider that name none, or one that several have the name of",
		"topology-categories":                   "tag categories that volumes go by, 5 at most; in place of `region` and `zone`",
		"ips":                                   "address or network of clients that mount new file volumes; `*` if not said",
		"permissions":                           "`READ_WRITE` (the default), `READ_ONLY` or `NO_ACCESS`",
		"rootsquash":                            "`true`: root of a client is an anonymous user",
		"label":                                 "label of nodes for this category, in place of `topology.csi.vmware.com/CATEGORY`",
		"global-max-snapshots-per-block-volume": "1 to 32; 3 if not said",
	}
}

// The reference has every key that files are read by, and a meaning for each that has an effect.
func TestConfigurationReference(t *testing.T) {
	meaning, used := meanings(), map[string]bool{}
	var b strings.Builder
	fmt.Fprintln(&b, "| section | YAML | INI | environment | kind | |")
	fmt.Fprintln(&b, "|---|---|---|---|---|---|")
	for _, k := range provider.Reference() {
		name := k.YAML
		if name == "" {
			name = k.INI
		}
		why := meaning[name]
		switch {
		case k.Kind == "":
			why = "known, without effect"
		case why == "":
			t.Errorf("%s: what is it?", name)
		case k.Section == "vcenter" && k.YAML != "server":
			why = "as in `global`, of this vCenter"
		}
		used[name] = true
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", k.Section, code(k.YAML), code(k.INI), code(k.Env+k.VCEnv), k.Kind, why)
	}
	for name := range maps.Keys(meaning) {
		if !used[name] {
			t.Errorf("%s: there is no such key", name)
		}
	}
	generated(t, "configuration.md", "keys", b.String())

	b.Reset()
	fmt.Fprintln(&b, "| section | key | | |")
	fmt.Fprintln(&b, "|---|---|---|---|")
	own := csiMeanings()
	for _, k := range driver.Reference() {
		both, what := "", own[k.Name]
		delete(own, k.Name)
		switch {
		case k.Unused != "":
			what = "no effect here: " + k.Unused
		case k.Shared && strings.HasPrefix(k.Section, "[VirtualCenter"):
			what = "as in `[Global]`, of this vCenter"
		case k.Shared:
			what = meaning[camel(k.Name)]
		}
		if k.Shared {
			both = "both"
		}
		if what == "" {
			t.Errorf("%s %s: what is it?", k.Section, k.Name)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Section, code(k.Name), both, what)
	}
	for name := range own {
		t.Errorf("csi-vsphere.conf: there is no key %s", name)
	}
	generated(t, "configuration.md", "csi", b.String())
}

// Every example is read without a warning, and the page has all of them.
func TestConfigurationExamples(t *testing.T) {
	page, err := os.ReadFile("configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("examples/conf/*")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if !slices.Contains(links(string(page)), file) {
				t.Errorf("configuration.md does not name it")
			}
			var warnings []string
			if strings.HasPrefix(filepath.Base(file), "csi-") {
				cfg, err := driver.LoadFile(file, driver.ReadOptions{Format: driver.CSI})
				if err != nil {
					t.Fatal(err)
				}
				warnings = cfg.Warnings
			} else {
				cfg, err := provider.LoadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				warnings = cfg.Warnings
			}
			for _, w := range warnings {
				t.Error(w)
			}
		})
	}
}

// camel is a key of INI as YAML has it.
func camel(name string) string {
	words := strings.Split(name, "-")
	for i, w := range words[1:] {
		words[i+1] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

// code is a word as it is typed; nothing for none.
func code(word string) string {
	if word == "" {
		return ""
	}
	return "`" + word + "`"
}
