package guest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/guest"
)

// Three notations that are common.
const (
	networkV2 = `version: 2
ethernets:
  id1:
    match: {macaddress: "00:50:56:00:00:02"}
    set-name: eth1
    addresses: [203.0.113.9/24]
  id0:
    match: {macaddress: "00:50:56:00:00:01"}
    set-name: eth0
    addresses: ["10.0.0.7/24", "fd00::7/64"]
    gateway4: 10.0.0.1
`
	networkV1 = `version: 1
config:
- {type: physical, name: eth1, subnets: [{type: static, address: 203.0.113.9/24}]}
- type: physical
  name: eth0
  subnets:
  - {type: static, address: 10.0.0.7, netmask: 255.255.255.0}
  - {type: dhcp6}
  - {type: static6, address: "fd00::7/64"}
- {type: nameserver, address: [8.8.8.8]}
`
	networkJSON = "{\n\t\"ethernets\": {\"id1\": {\"addresses\": [\"203.0.113.9\\/24\"]},\n\t\"id0\": {\"addresses\": [\"10.0.0.7/24\", \"fd00::7/64\"]}}}"
)

var three = addrs("203.0.113.9", "10.0.0.7", "fd00::7")

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func gz(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return b64(b.String())
}

// below puts a network configuration below the key network.
func below(network string) string {
	return "instance-id: x\nlocal-hostname: node-1\nnetwork:\n  " + strings.ReplaceAll(strings.TrimSpace(network), "\n", "\n  ") + "\n"
}

func TestStaticAddresses(t *testing.T) {
	for name, tc := range map[string]struct {
		metadata, encoding string
		want, upstream     []netip.Addr
	}{
		"version 2":                       {b64(below(networkV2)), "base64", three, three},
		"version 1":                       {b64(below(networkV1)), "base64", three, nil},
		"json":                            {b64(`{"network": ` + networkJSON + `, "x": "\ud83d\ude00"}`), "base64", three, three},
		"network, base64":                 {b64("network: " + b64(networkV2) + "\nnetwork.encoding: base64\n"), "base64", three, three},
		"network, b64":                    {b64("network: " + b64(networkV2) + "\nnetwork.encoding: b64\n"), "base64", three, three},
		"network, gzip+base64":            {b64("network: " + gz(networkV2) + "\nnetwork.encoding: gzip+base64\n"), "base64", three, three},
		"network, gz+b64":                 {b64(`{"network": "` + gz(networkJSON) + `", "network.encoding": "gz+b64"}`), "base64", three, three},
		"network, plain text":             {b64("network: |\n  " + strings.ReplaceAll(networkV2, "\n", "\n  ")), "base64", three, three},
		"network within network":          {b64("network: " + b64(below(networkV2)) + "\nnetwork.encoding: b64\n"), "base64", three, three},
		"a mapping is not decoded":        {b64(below(networkV2) + "network.encoding: base64\n"), "base64", three, three},
		"all b64":                         {b64(below(networkV2)), "b64", three, nil},
		"all gzip+base64":                 {gz(below(networkV2)), "gzip+base64", three, nil},
		"all gz+b64":                      {gz(below(networkV1)), "gz+b64", three, nil},
		"all plain":                       {below(networkV2), "", three, nil},
		"all plain, of an unknown name":   {below(networkV2), "BASE64", three, nil},
		"base64 on lines":                 {" " + b64(below(networkV2))[:40] + "\r\n" + b64(below(networkV2))[40:] + "\n", "base64", three, three},
		"nothing":                         {"", "base64", nil, nil},
		"blank":                           {" \n", "base64", nil, nil},
		"taken back, as cloud-init does":  {"---", "", nil, nil},
		"taken back, encoded":             {b64("---\n"), "base64", nil, nil},
		"no network":                      {b64("instance-id: x\n"), "base64", nil, nil},
		"network null":                    {b64("network: ~\n"), "base64", nil, nil},
		"network empty":                   {b64("network: ''\nnetwork.encoding: b64\n"), "base64", nil, nil},
		"network a list":                  {b64("network: [1, 2]\n"), "base64", nil, nil},
		"dhcp":                            {b64(below("ethernets: {eth0: {dhcp4: true}}")), "base64", nil, nil},
		"addresses null":                  {b64(below("ethernets: {eth0: {addresses: }}")), "base64", nil, nil},
		"devices null":                    {b64(below("ethernets: {eth0: , eth1: {addresses: [10.0.0.1/8]}}")), "base64", addrs("10.0.0.1"), addrs("10.0.0.1")},
		"netplan's options":               {b64(below("ethernets: {eth0: {addresses: [10.0.0.1/8: {label: x}, 10.0.0.2]}}")), "base64", addrs("10.0.0.1", "10.0.0.2"), addrs("10.0.0.1", "10.0.0.2")},
		"no addresses among addresses":    {b64(below("ethernets: {eth0: {addresses: [dhcp, '', {}, [], 10.0.0.1/8, 10.0.0.300]}}")), "base64", addrs("10.0.0.1"), addrs("10.0.0.1")},
		"each once":                       {b64(below("ethernets: {a: {addresses: [10.0.0.1/8]}, b: {addresses: [10.0.0.2/8, 10.0.0.1/8]}}")), "base64", addrs("10.0.0.1", "10.0.0.2"), addrs("10.0.0.1", "10.0.0.2")},
		"ipv4 in ipv6":                    {b64(below("ethernets: {a: {addresses: ['::ffff:10.0.0.1/104']}}")), "base64", addrs("10.0.0.1"), addrs("10.0.0.1")},
		"aliases and merged keys":         {b64("x: &x {addresses: [10.0.0.1/8]}\ny: &y {ethernets: {a: *x, b: {<<: [{}, *x]}}}\nnetwork: {<<: *y}\n"), "base64", addrs("10.0.0.1"), addrs("10.0.0.1")},
		"bonds of version 1 do not count": {b64(below("config: [{type: bond, subnets: [{address: 10.0.0.1/8}]}]")), "base64", nil, nil},
		"plain text that is none":         {"set by: [the backup", "", nil, nil},
		"plain text that is no mapping":   {"hello", "", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := guest.StaticAddresses(tc.metadata, tc.encoding)
			if diff := cmp.Diff(tc.want, got, byValue); diff != "" || err != nil {
				t.Error(err, diff)
			}
			got, err = guest.UpstreamStaticAddresses(tc.metadata, tc.encoding)
			if diff := cmp.Diff(tc.upstream, got, byValue); diff != "" || err != nil {
				t.Error("upstream:", err, diff)
			}
		})
	}
}

func TestStaticAddressesUnreadable(t *testing.T) {
	deep, wide := strings.Repeat("[", 12_000), &strings.Builder{}
	for i := range 400 {
		fmt.Fprintf(wide, "10.0.%d.%d, ", i/200, i%200)
	}
	// 2^20 paths from the network to its only device.
	maze := &strings.Builder{}
	maze.WriteString("a0: &a0 {x: y}\n")
	for i := range 20 {
		fmt.Fprintf(maze, "a%d: &a%d {<<: [*a%d, *a%d]}\n", i+1, i+1, i, i)
	}
	maze.WriteString("network: *a20\n")
	for name, tc := range map[string]struct{ metadata, encoding, err string }{
		"no base64":                    {"%%%", "base64", `encoding "base64": illegal base64`},
		"no base64, short name":        {"%%%", "b64", `encoding "b64": illegal base64`},
		"no gzip":                      {b64("network: {}"), "gzip+base64", `encoding "gzip+base64": gzip`},
		"gzip cut off":                 {gz(below(networkV2))[:40], "gz+b64", `encoding "gz+b64": unexpected EOF`},
		"no yaml":                      {b64("network: [a"), "base64", "yaml: "},
		"not a mapping":                {b64("hello"), "base64", "not a mapping"},
		"a list":                       {b64("[1]"), "base64", "not a mapping"},
		"network, no base64":           {b64("network: '%'\nnetwork.encoding: b64"), "base64", `encoding "b64"`},
		"network, no base64, plain":    {"network: '%'\nnetwork.encoding: b64", "", `encoding "b64"`},
		"network, no gzip":             {b64("network: " + b64("x: y") + "\nnetwork.encoding: gz+b64"), "base64", `encoding "gz+b64"`},
		"network, no mapping":          {b64("network: eth0"), "base64", "not a mapping"},
		"gzip bomb":                    {gz(strings.Repeat(" ", 8<<20)), "gzip+base64", "longer than 262144 bytes"},
		"gzip bomb in network":         {b64("network: " + gz(strings.Repeat("#", 8<<20)) + "\nnetwork.encoding: gz+b64"), "base64", "longer than 262144 bytes"},
		"long":                         {b64(strings.Repeat("#", 300<<10)), "base64", "longer than 262144 bytes"},
		"very long":                    {strings.Repeat("A", 1<<20), "base64", "longer than 524288 bytes"},
		"deep":                         {b64(deep), "base64", "yaml: "},
		"too many addresses":           {b64(below("ethernets: {a: {addresses: [" + wide.String() + "]}}")), "base64", "too many values or addresses"},
		"a mapping merged into itself": {b64("network: &n {<<: *n}"), "base64", "too many values or addresses"},
		"maze":                         {b64(maze.String()), "base64", "too many values or addresses"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := guest.StaticAddresses(tc.metadata, tc.encoding)
			if got != nil || err == nil || !strings.HasPrefix(err.Error(), "guestinfo.metadata: ") || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %v, %v, want an error with %q", got, err, tc.err)
			}
		})
	}
}

// The order is always the written one, although devices are keys of a mapping: upstream's differs from call to call.
func TestStaticAddressesOrder(t *testing.T) {
	var text strings.Builder
	var want []netip.Addr
	text.WriteString("network:\n  ethernets:\n")
	for i := range 50 {
		fmt.Fprintf(&text, "    id%d: {addresses: [10.0.0.%d/24]}\n", (i*31)%50, i+1)
		want = append(want, netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}))
	}
	for range 100 {
		got, err := guest.StaticAddresses(b64(text.String()), "base64")
		if diff := cmp.Diff(want, got, byValue); diff != "" || err != nil {
			t.Fatal(err, diff)
		}
	}
}

func FuzzStaticAddresses(f *testing.F) {
	for _, text := range []string{
		below(networkV2), below(networkV1), networkJSON, "network: " + gz(networkV2) + "\nnetwork.encoding: gz+b64",
		"a: &a {<<: [*a, *a]}\nnetwork: *a", "network: {ethernets: {a: {addresses: [{1.2.3.4/5: {}}]}}}", "%YAML 1.2\n---\n? a\n: !!binary b\n", "- &a [*a]",
	} {
		for _, encoding := range []string{"", "base64"} {
			f.Add(text, encoding)
			f.Add(b64(text), encoding)
		}
		f.Add(gz(text), "gzip+base64")
	}
	f.Fuzz(func(t *testing.T, metadata, encoding string) {
		got, err := guest.StaticAddresses(metadata, encoding)
		if err != nil && got != nil || len(got) > 256 {
			t.Fatal(got, err)
		}
		seen := map[netip.Addr]bool{}
		for _, ip := range got {
			if !ip.IsValid() || ip.Is4In6() || ip.Zone() != "" || seen[ip] {
				t.Errorf("%v in %v", ip, got)
			}
			seen[ip] = true
		}
		if again, _ := guest.StaticAddresses(metadata, encoding); !cmp.Equal(got, again, byValue) {
			t.Errorf("first %v, then %v", got, again)
		}
	})
}

func BenchmarkStaticAddresses(b *testing.B) {
	metadata := b64(below(networkV2))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := guest.StaticAddresses(metadata, "base64"); err != nil {
			b.Fatal(err)
		}
	}
}
