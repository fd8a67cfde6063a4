package topology

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/strict"
)

// A rule says what is wrong with a name, and what it might have been meant to be. An empty complaint is approval.
type rule func(name string) (complaint, hint string)

// dnsLabel is RFC 1123: what DNS takes between two dots, and Kubernetes and the file system take anywhere.
func dnsLabel(name string) (complaint, hint string) {
	if isLabel(name) {
		return "", ""
	}
	return "must be a DNS label: at most 63 lower-case letters, digits and hyphens, a letter or digit at both ends, not " +
		strict.Shown(name), approved(isLabel, tamed(name, false))
}

// dnsName is an RFC 1123 subdomain in lower case.
func dnsName(name string) (complaint, hint string) {
	if isSubdomain(name) {
		return "", ""
	}
	return "must be a DNS name: lower-case letters, digits, hyphens and dots, a letter or digit at both ends of each part, not " +
		strict.Shown(name), approved(isSubdomain, tamed(name, true))
}

// hostName is what an ESXi host may be called: a DNS name, in any case, and with the underscores that DNS has no use for
// but that vcsim's own names have (DC0_C0_H0).
func hostName(name string) (complaint, hint string) {
	if isSubdomain(strings.ReplaceAll(strings.ToLower(name), "_", "x")) {
		return "", ""
	}
	return dnsName(name)
}

// nodeName is a DNS name that a label can hold: the kubelet sets kubernetes.io/hostname to it.
func nodeName(name string) (complaint, hint string) {
	if complaint, hint := dnsName(name); complaint != "" {
		return complaint, hint
	}
	if len(name) > 63 {
		return "must be at most 63 characters, as a node's kubernetes.io/hostname label is, not " + strict.Shown(name), ""
	}
	return "", ""
}

// tagName is what fits both a vSphere tag and a Kubernetes label's value.
func tagName(name string) (complaint, hint string) {
	if isTag(name) {
		return "", ""
	}
	return "must fit a Kubernetes label: at most 63 letters, digits, hyphens, underscores and dots, a letter or digit at both ends, not " +
		strict.Shown(name), approved(isTag, strings.Trim(strings.ReplaceAll(name, " ", "-"), "-_."))
}

// inventoryName is what a vCenter shows as it was given: no slashes or percent signs, which it would escape.
func inventoryName(name string) (complaint, hint string) {
	switch {
	case len(name) > 80:
		return "must be at most 80 bytes long, not " + strict.Shown(name), ""
	case strings.TrimSpace(name) != name:
		return "must not begin or end with a space", strings.TrimSpace(name)
	case strings.ContainsAny(name, `/\%`):
		return `must not hold /, \ or %, which a vCenter escapes, as ` + strict.Shown(name) + " does", ""
	case strings.ContainsAny(name, "{}"):
		return "must not hold { or }, which are for numbering replicas ({n}), as " + strict.Shown(name) + " does", ""
	case strings.ContainsFunc(name, unicode.IsControl):
		return "must not hold control characters, as " + strict.Shown(name) + " does", ""
	}
	return "", ""
}

// freeName is what vSphere takes for tags, categories, policies, roles and snapshots: any text on one line.
func freeName(name string) (complaint, hint string) {
	switch {
	case len(name) > 256:
		return "must be at most 256 bytes long, not " + strict.Shown(name), ""
	case strings.TrimSpace(name) != name:
		return "must not begin or end with a space", strings.TrimSpace(name)
	case strings.ContainsFunc(name, unicode.IsControl):
		return "must not hold control characters, as " + strict.Shown(name) + " does", ""
	}
	return "", ""
}

// accountName is what an identity source knows a user or group by: "cpi@vsphere.local".
func accountName(name string) (complaint, hint string) {
	if user, domain, ok := strings.Cut(name, "@"); ok && user != "" && isSubdomain(strings.ToLower(domain)) &&
		len(name) <= 255 && !strings.ContainsFunc(user, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || strings.ContainsRune(`"/\[]:;|=,+*?<>@`, r)
	}) {
		return "", ""
	}
	return "must be a name with its domain, such as cpi@vsphere.local, not " + strict.Shown(name), ""
}

// anyName is for references, which are right if what they refer to is there.
func anyName(string) (complaint, hint string) { return "", "" }

// maxFolderPath bounds folders: deeper than anybody nests them.
const maxFolderPath = 512

// folderPath is inventory names joined by slashes.
func folderPath(name string) (complaint, hint string) {
	if len(name) > maxFolderPath {
		return "must be at most " + strconv.Itoa(maxFolderPath) + " bytes long, not " + strict.Shown(name), ""
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" {
			return "must be names joined by single slashes, such as \"americas/west\", not " + strict.Shown(name),
				strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '/' }), "/")
		}
		if complaint, _ := inventoryName(part); complaint != "" {
			return complaint, ""
		}
	}
	return "", ""
}

// guestID is an identifier of vSphere's VirtualMachineGuestOsIdentifier. The list grows with each release, so only the
// form is checked.
func guestID(name string) (complaint, hint string) {
	if len(name) <= 80 && only(name, func(b byte) bool { return alnum(b) || 'A' <= b && b <= 'Z' || b == '_' }) {
		return "", ""
	}
	return "must be a vSphere guest id such as ubuntu64Guest, not " + strict.Shown(name), ""
}

func isLabel(s string) bool {
	return s != "" && len(s) <= 63 && alnum(s[0]) && alnum(s[len(s)-1]) &&
		only(s, func(b byte) bool { return alnum(b) || b == '-' })
}

func isSubdomain(s string) bool {
	for part := range strings.SplitSeq(s, ".") {
		if !isLabel(part) {
			return false
		}
	}
	return len(s) <= 253
}

func isTag(s string) bool {
	letter := func(b byte) bool { return alnum(b) || 'A' <= b && b <= 'Z' }
	return s != "" && len(s) <= 63 && letter(s[0]) && letter(s[len(s)-1]) &&
		only(s, func(b byte) bool { return letter(b) || b == '-' || b == '_' || b == '.' })
}

func alnum(b byte) bool { return 'a' <= b && b <= 'z' || '0' <= b && b <= '9' }

func only(s string, allowed func(byte) bool) bool {
	for i := range len(s) {
		if !allowed(s[i]) {
			return false
		}
	}
	return true
}

// tamed makes the nearest DNS name of any text: lower case, and a hyphen for what DNS does not take.
func tamed(name string, dots bool) string {
	mapped := strings.Map(func(r rune) rune {
		if r < unicode.MaxASCII && alnum(byte(r)) || dots && r == '.' {
			return r
		}
		return '-'
	}, strings.ToLower(name))
	parts := strings.Split(mapped, ".")
	kept := parts[:0]
	for _, part := range parts {
		if part = strings.Trim(part, "-"); part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ".")
}

// approved is the name if it is valid: a hint must not lead to the next error.
func approved(valid func(string) bool, name string) string {
	if len(name) > 64 || !valid(name) {
		return ""
	}
	return name
}
