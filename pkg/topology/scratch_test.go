package topology
import ("testing";"os")
func TestScratch(t *testing.T){ b,_:=os.ReadFile("testdata/invalid-many.yaml"); _,err:=Load("many.yaml",b); t.Log("\n"+err.Error()) }
