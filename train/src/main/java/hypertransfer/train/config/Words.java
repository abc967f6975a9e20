package hypertransfer.train.config;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.ShapeFactor;
import hypertransfer.engine.Nonlinearity;
import hypertransfer.engine.ranks.Exchange;
import hypertransfer.train.network.Design;
import hypertransfer.train.network.Preset;
import hypertransfer.train.optimizer.View;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Function;
import java.util.stream.Collectors;
import tools.jackson.core.JsonGenerator;
import tools.jackson.core.JsonParser;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.ValueDeserializer;
import tools.jackson.databind.ValueSerializer;
import tools.jackson.databind.module.SimpleModule;

/** The words of a configuration: each is looked up once, when the file is read, and written as it was. */
final class Words extends SimpleModule {
    Words() {
        word(Mode.class, Mode::parse, Mode::label);
        word(View.class, View::parse, View::text);
        word(Preset.class, Preset::parse, Preset::label);
        word(Fall.Curve.class, Fall.Curve::parse, Fall.Curve::text);
        word(
                Update.Kind.class,
                text -> of(Update.Kind.class, "matrices.direction", text, all(Update.Kind.class)),
                Words::label);
        word(
                Matrices.Master.class,
                text -> of(Matrices.Master.class, "matrices.master", text, "auto, float32 or float64"),
                Words::label);
        word(
                Matrices.Init.class,
                text -> of(Matrices.Init.class, "matrices.init", text, "normal or zero"),
                Words::label);
        word(
                Coefficients.class,
                text -> of(Coefficients.class, "matrices.coefficients", text, all(Coefficients.class)),
                Words::label);
        word(
                ShapeFactor.class,
                text -> of(ShapeFactor.class, "matrices.shape_factor", text, all(ShapeFactor.class)),
                Words::label);
        word(
                Matrices.Gradient.class,
                text -> of(Matrices.Gradient.class, "matrices.gradient", text, all(Matrices.Gradient.class)),
                Words::label);
        word(
                Nonlinearity.class,
                text -> of(Nonlinearity.class, "model.mlp", text, all(Nonlinearity.class)),
                Words::label);
        word(
                Design.Positions.class,
                text -> of(Design.Positions.class, "model.positions", text, "rotary, learned or none"),
                Words::label);
        word(Design.Norm.class, text -> of(Design.Norm.class, "model.norm", text, "rms or layer"), Words::label);
        word(Exchange.class, text -> of(Exchange.class, "ranks.carrier", text, "auto, mpi or nccl"), Words::label);
    }

    private <T> void word(Class<T> type, Function<String, T> parse, Function<T, String> text) {
        addDeserializer(type, new ValueDeserializer<T>() {
            @Override
            public T deserialize(JsonParser parser, DeserializationContext context) {
                return parse.apply(context.readValue(parser, String.class));
            }
        });
        addSerializer(type, new ValueSerializer<T>() {
            @Override
            public void serialize(T value, JsonGenerator generator, SerializationContext context) {
                generator.writeString(text.apply(value));
            }
        });
    }

    private static <E extends Enum<E>> E of(Class<E> type, String key, String text, String choices) {
        return Arrays.stream(type.getEnumConstants())
                .filter(value -> label(value).equals(text))
                .findFirst()
                .orElseThrow(() -> new Refusal(key + " is '" + text + "'; it must be " + choices));
    }

    private static String all(Class<? extends Enum<?>> type) {
        return "one of "
                + Arrays.stream(type.getEnumConstants()).map(Words::label).collect(Collectors.joining(", "));
    }

    static String label(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
