package roles

import "strings"

// sameAccount compares names of accounts as vCenter does: "ccm@vsphere.local" and "VSPHERE.LOCAL\ccm" are one.
func sameAccount(a, b string) bool { return canonical(a) == canonical(b) }

func canonical(name string) string {
	if domain, user, ok := strings.Cut(name, `\`); ok {
		name = user + "@" + domain
	}
	return strings.ToLower(name)
}

// hasDomain tells whether a name says whose it is.
func hasDomain(name string) bool {
	at, slash := strings.LastIndexByte(name, '@'), strings.IndexByte(name, '\\')
	return at > 0 && at < len(name)-1 || slash > 0 && slash < len(name)-1
}
