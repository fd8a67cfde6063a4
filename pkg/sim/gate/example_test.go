package gate_test

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

func ExampleParseRules() {
	rules, err := gate.ParseRules("rules.yaml", []byte(`
- name: CSI cannot attach
  match: {client: vsphere-csi, methods: [CnsAttachVolume]}
  action: {failTask: {after: 5s, fault: FileLocked}}
  count: 3
`))
	fmt.Println(len(rules), rules[0].Name, err)

	_, err = gate.ParseRules("rules.yaml", []byte(`
- match:
    methods: [CnsAtachVolume]
  action: hang
  probabilty: 0.5
`))
	fmt.Println(err)

	// Output:
	// 1 CSI cannot attach <nil>
	// rules.yaml:3: match.methods[0]: unknown method "CnsAtachVolume": did you mean CnsAttachVolume?
	// rules.yaml:5: probabilty: unknown field: did you mean probability?
}
