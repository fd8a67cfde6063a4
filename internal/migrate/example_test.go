package migrate_test

import (
	"fmt"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/migrate"
)

func ExampleConvert() {
	old := migrate.Source{Name: "vsphere.conf", Data: []byte(`[Global]
user = "k8s@vsphere.local"
password = "secret"
server = "vc.example"
datacenter = "dc1"
vm-uuid = "4237b2e0-0000-4000-8000-0123456789ab"
`)}
	m, err := migrate.Convert(old, migrate.Options{ClusterID: "blue"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range m.Report.Lines {
		fmt.Println(l.Line, l.Verdict, l.What)
	}
	// Output:
	// 1 changed [Global]
	// 2 moved [Global] user
	// 3 moved [Global] password
	// 4 changed [Global] server
	// 5 changed [Global] datacenter
	// 6 dropped [Global] vm-uuid
}
