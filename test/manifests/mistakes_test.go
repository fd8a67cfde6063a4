package manifests

import (
	"regexp"
	"strings"
	"testing"
)

// A mistake in the values is reported before anything is installed, with its place and an explanation.
func TestMistakes(t *testing.T) {
	for _, test := range []struct{ name, values, want string }{
		{
			"an unknown value", `vcentres: []`,
			`at '': additional properties 'vcentres' not allowed`,
		}, {
			"no vCenter", `vcenters: []`,
			`at '/vcenters': minItems: got 0, want 1`,
		}, {
			"a misspelled key of a vCenter", `vcenters: [{name: a, server: a.test, datacentres: [x]}]`,
			`at '/vcenters/0': additional properties 'datacentres' not allowed`,
		}, {
			"a key in the style of INI", `vcenters: [{name: a, server: a.test, insecure-flag: true}]`,
			`at '/vcenters/0': additional properties 'insecure-flag' not allowed`,
		}, {
			"a vCenter without a server", `vcenters: [{name: a}]`,
			`at '/vcenters/0': missing property 'server'`,
		}, {
			"a word for a number", `vcenters: [{name: a, server: a.test, port: https}]`,
			`at '/vcenters/0/port': got string, want integer`,
		}, {
			"an unknown family", `vcenters: [{name: a, server: a.test, ipFamily: [ipv5]}]`,
			`at '/vcenters/0/ipFamily/0': value must be one of 'ipv4', 'ipv6'`,
		}, {
			"a URL", `vcenters: [{name: a, server: "https://a.test"}]`,
			`at '/vcenters/0/server': 'https://a.test' does not match pattern`,
		}, {
			"a fingerprint without colons", `vcenters: [{name: a, server: a.test, thumbprint: AABB}]`,
			`at '/vcenters/0/thumbprint': 'AABB' does not match pattern`,
		}, {
			"an address for a network", `nodes: {internalNetworkSubnetCidr: 10.0.0.1}`,
			`at '/nodes/internalNetworkSubnetCidr': '10.0.0.1' does not match pattern`,
		}, {
			"a digest without algorithm", `image: {digest: abc}`,
			`at '/image/digest': 'abc' does not match pattern`,
		}, {
			"the mount key of upstream's chart", `extraVolumesMounts: []`,
			`at '': additional properties 'extraVolumesMounts' not allowed`,
		}, {
			"a port in a server", `vcenters: [{name: a, server: "a.test:8443", username: u, password: p}]`,
			`vcenters[0] (a): the server a.test:8443 contains a port: set port instead`,
		}, {
			"two vCenters of a name", `vcenters: [{name: a, server: a.test, username: u, password: p}, {name: a, server: b.test}]`,
			`vcenters[1] (a): the name is taken by another vCenter`,
		}, {
			"two authorities", `vcenters: [{name: a, server: a.test, ca: "-----BEGIN CERTIFICATE-----", caFile: /a}]`,
			`vcenters[0] (a): set either ca or caFile, not both`,
		}, {
			"no credentials", `vcenters: [{name: a, server: a.test, username: u}]`,
			`vcenters[0] (a): set username and password, or secretName, or set credentials.create to false`,
		}, {
			"credentials twice", `vcenters: [{name: a, server: a.test, username: u, secretName: s}]`,
			`vcenters[0] (a): its credentials are in the Secret s: remove username and password`,
		}, {
			"credentials without effect",
			`{vcenters: [{name: a, server: a.test, username: u, password: p}], credentials: {create: false}}`,
			`vcenters[0] (a): username and password have no effect while credentials.create is false`,
		}, {
			"zones without regions", `labels: {zone: k8s-zone}`,
			`labels: set both region and zone`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := render(t, "kube-system", test.values)
			if err == nil {
				t.Fatal("no error")
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
			if regexp.MustCompile(`(?i)nil pointer|interface \{\}|u, password: p`).MatchString(err.Error()) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Placeholders that were left in, and a namespace that may refuse the pods, are said after the installation.
func TestNotes(t *testing.T) {
	const placeholder, standard = "vCenter vcenter (vcenter.example.com) is a placeholder", "pod-security.kubernetes.io/enforce=privileged"
	for _, test := range []struct {
		namespace, values string
		want              []string
	}{
		{"kube-system", "", []string{placeholder}},
		{"ccm", "", []string{placeholder, standard}},
		{"ccm", several, []string{standard}},
		{"kube-system", several, nil},
		{"kube-system", `{config: {create: false}}`, nil},
	} {
		files, err := render(t, test.namespace, test.values)
		if err != nil {
			t.Fatal(err)
		}
		notes := files["vsphere-cloud-controller-manager/templates/NOTES.txt"]
		for _, part := range []string{placeholder, standard} {
			wanted := strings.Contains(strings.Join(test.want, "\n"), part)
			if strings.Contains(notes, part) != wanted {
				t.Errorf("%s with %q: %q is wanted: %v, in\n%s", test.namespace, test.values, part, wanted, notes)
			}
		}
	}
}
