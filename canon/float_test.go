package canon

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestAppendFloat(t *testing.T) {
	for want, f := range map[string]float64{
		"0.0": 0, "-0.0": math.Copysign(0, -1), "1.0": 1, "-1.5": -1.5, "0.1": 0.1,
		"1e+16": 1e16, "9999999999999998.0": 9999999999999998, "1e+22": 1e22, "1e-07": 1e-7,
		"0.0001": 1e-4, "9.999e-05": 9.999e-5, "1.5e+300": 1.5e300, "5e-324": 5e-324,
		"1.7976931348623157e+308": math.MaxFloat64, "1700000000.123": 1700000000.123,
		"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1),
	} {
		if got := string(AppendFloat([]byte("x"), f)); got != "x"+want {
			t.Errorf("AppendFloat(%g) = %s, want x%s", f, got, want)
		}
	}
}

// Texts that are too long for strconv denote what the exact number rounds to.
func TestLongFloats(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("0", n) }
	half := "9007199254740993" // halfway between two floats, the even one is below
	tests := map[string]float64{
		"0." + zeros(20000) + "1e20001":              1,
		"-1" + zeros(30000) + ".0e-30000":            -1,
		"0." + zeros(5000):                           0,
		"-0." + zeros(5000) + "e5":                   math.Copysign(0, -1),
		"1e" + zeros(5000) + "5":                     1e5,
		"1e-" + zeros(5000) + "5":                    1e-5,
		"0." + zeros(2000) + "1e" + zeros(10) + "5":  0,
		half + "." + zeros(2000):                     9007199254740992,
		half + "." + zeros(2000) + "1":               9007199254740994,
		half + zeros(2000) + "1e-2001":               9007199254740994,
		half + zeros(2000) + "e-2000":                9007199254740992,
		"1" + zeros(5000) + "e999999999999999999999": math.Inf(1),
		"1" + zeros(5000) + "e-99999999999999999999": 0,
	}
	for text, want := range tests {
		v, err := Parse([]byte(text))
		f, ok := v.(Float)
		if err != nil || !ok || float64(f) != want || math.Signbit(float64(f)) != math.Signbit(want) {
			t.Errorf("%.30s... (%d bytes) = %v, %v, want %v", text, len(text), v, err, want)
		}
	}
}

// Exact decimal expansions of floats and of the points halfway between them,
// shortened and as they are.
func TestShortenFloat(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		f := math.Float64frombits(random.Uint64() &^ (1 << 62)) // of small size: long expansions
		if math.IsNaN(f) || math.IsInf(f, 0) {
			continue
		}
		exact := new(big.Float).SetPrec(2000).SetFloat64(f)
		if random.IntN(2) == 0 {
			next := new(big.Float).SetFloat64(math.Nextafter(f, math.Inf(1)))
			exact.Add(exact, next).Quo(exact, big.NewFloat(2))
		}
		text := exact.Text('f', 1200)
		switch random.IntN(3) {
		case 0:
			text += "1"
		case 1:
			text = exact.Text('e', 900)
		}
		want, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := strconv.ParseFloat(string(shortenFloat([]byte(text))), 64); got != want {
			t.Fatalf("%s is shortened to %s, which is %g, not %g", text, shortenFloat([]byte(text)), got, want)
		}
	}
}
