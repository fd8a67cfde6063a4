package migrate

import (
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// Dialect is whose file an old file is.
type Dialect string

// The dialects.
const (
	// InTree is a file of the provider in Kubernetes, which stopped at a key that it did not know.
	InTree Dialect = "in-tree"
	// OutOfTree has a key that only cloud-provider-vsphere knows. That ignored sections that it did not know.
	OutOfTree Dialect = "out-of-tree"
	// Either has only keys that both know.
	Either Dialect = "either"
)

// String says it in a sentence.
func (d Dialect) String() string {
	switch d {
	case InTree:
		return "a file of the in-tree provider"
	case OutOfTree:
		return "an INI file of cloud-provider-vsphere"
	}
	return "a file that the in-tree provider and cloud-provider-vsphere both read"
}

// readers are who knows a section or a key.
type readers uint8

const (
	nobody  readers = 0
	inTree  readers = 1
	outside readers = 2
	both            = inTree | outside
)

// dialect looks at the sections and keys that only one of them knows.
func (all known) dialect(of []config.INISection) Dialect {
	var old bool
	for _, s := range of {
		section, ok := all.section(s.Name)
		if !ok {
			continue
		}
		if section.readers == outside {
			return OutOfTree
		}
		old = old || section.readers == inTree
		for _, e := range s.Entries {
			k, ok := section.key(e.Key)
			if ok && k.readers == outside {
				return OutOfTree
			}
			old = old || ok && k.readers == inTree
		}
	}
	if old {
		return InTree
	}
	return Either
}
